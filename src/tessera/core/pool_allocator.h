// Single objects from a list of freed ones, for types that come and go at every step of a generation. Nothing goes back
// to the system: a step takes what the one before it left.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>

namespace tessera {

template <class T>
class PoolAllocator {
   public:
    using value_type = T;

    PoolAllocator() = default;
    template <class Other>
    PoolAllocator(const PoolAllocator<Other>&) {}

    T* allocate(std::size_t count) {
        if (count != 1) return std::allocator<T>().allocate(count);
        {
            const std::lock_guard lock(pool().mutex);
            if (Free* taken = pool().first) {
                pool().first = taken->next;
                return reinterpret_cast<T*>(taken);
            }
        }
        return static_cast<T*>(::operator new(block_bytes));
    }

    void deallocate(T* data, std::size_t count) noexcept {
        if (count != 1) return std::allocator<T>().deallocate(data, count);
#ifdef __SANITIZE_ADDRESS__
        ::operator delete(data);  // so that a use after free is seen
#else
        const std::lock_guard lock(pool().mutex);
        pool().first = new (static_cast<void*>(data)) Free{pool().first};
#endif
    }

    bool operator==(const PoolAllocator&) const { return true; }

   private:
    struct Free {
        Free* next;
    };
    struct Pool {
        std::mutex mutex;
        Free* first = nullptr;
    };
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    static constexpr std::size_t block_bytes = sizeof(T) > sizeof(Free) ? sizeof(T) : sizeof(Free);

    // Never destroyed: objects with static lifetime may be freed after any other static object.
    static Pool& pool() {
        static auto* shared = new Pool();
        return *shared;
    }
};

}  // namespace tessera
