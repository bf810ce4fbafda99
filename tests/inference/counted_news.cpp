#include "inference/counted_news.h"

#include <atomic>
#include <cstdlib>
#include <new>

#ifndef __SANITIZE_ADDRESS__

namespace {
std::atomic<std::int64_t> news{0};
}

void* operator new(std::size_t bytes) {
    ++news;
    if (void* data = std::malloc(bytes)) return data;
    throw std::bad_alloc();
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }

namespace tessera::testing {
std::int64_t news_so_far() { return news; }
}  // namespace tessera::testing

#endif
