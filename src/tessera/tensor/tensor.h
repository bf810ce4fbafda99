// A tensor: a strided view of a storage and, when gradients are recorded, its place on the tape. Copies share both.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "tessera/core/device.h"
#include "tessera/core/dtype.h"
#include "tessera/core/shape.h"
#include "tessera/core/view.h"
#include "tessera/tensor/storage.h"

namespace tessera {

struct GradientState;  // tensor/tape.h

class Tensor {
   public:
    Tensor() = default;  // undefined: no storage, no shape
    Tensor(std::shared_ptr<Storage> storage, DType dtype, Shape shape, Shape strides, std::int64_t offset);

    static Tensor empty(Shape shape, DType dtype = DType::F32, Device device = cpu);
    static Tensor zeros(Shape shape, DType dtype = DType::F32, Device device = cpu);
    static Tensor full(Shape shape, double value, DType dtype = DType::F32, Device device = cpu);
    static Tensor scalar(double value, DType dtype = DType::F32, Device device = cpu) {
        return full({}, value, dtype, device);
    }
    // A shape without memory: a parameter before it is loaded or initialised. Using its values is an error.
    static Tensor deferred(Shape shape, DType dtype = DType::F32, Device device = cpu);
    // 0, 1, …, count − 1.
    static Tensor arange(std::int64_t count, DType dtype = DType::I64, Device device = cpu);
    // Copies the values. The dtype is that of T.
    template <class T>
    static Tensor from(std::span<const T> values, Shape shape);
    template <class T>
    static Tensor from(const std::vector<T>& values, Shape shape) {
        return from(std::span<const T>(values), shape);
    }
    template <class T>
    static Tensor from(std::initializer_list<T> values, Shape shape) {
        return from(std::span<const T>(values.begin(), values.size()), shape);
    }
    Tensor empty_like() const { return empty(shape_, dtype_, device()); }

    bool defined() const { return storage_ != nullptr; }
    bool is_deferred() const { return storage_ && storage_->data() == nullptr; }
    explicit operator bool() const { return defined(); }
    const Shape& shape() const { return shape_; }
    const Shape& strides() const { return strides_; }
    std::int64_t size(int dim) const { return shape_.at(dim); }
    std::int64_t stride(int dim) const { return strides_.at(dim); }
    int rank() const { return shape_.rank(); }
    std::int64_t elements() const { return shape_.elements(); }
    DType dtype() const { return dtype_; }
    Device device() const { return storage_ ? storage_->device() : cpu; }
    bool is_contiguous() const;
    const std::shared_ptr<Storage>& storage() const { return storage_; }
    std::int64_t offset() const { return offset_; }

    // What kernels get. The view of an undefined tensor has no data.
    View view() const;
    // The first element, checked against the dtype; host memory only.
    template <class T>
    T* data() const;
    // All values in row-major order, converted to T, from any device, dtype or strides.
    template <class T>
    std::vector<T> to_vector() const;
    double item() const;  // the only element

    // Views and copies that the tape does not see; ops/views.h has the recorded ones.
    Tensor with_layout(Shape shape, Shape strides, std::int64_t offset) const;
    Tensor detach() const;  // the same storage, no gradient
    Tensor clone() const;   // contiguous, own storage
    Tensor contiguous() const;
    Tensor to(Device device) const;
    Tensor to(DType dtype) const;
    void copy_from(const Tensor& source) const;  // same shape; converts dtype; writes into this tensor's storage
    void fill(double value) const;

    // Gradients. A leaf (a parameter, an input under test) collects its gradient across backward calls.
    bool requires_grad() const;
    Tensor& set_requires_grad(bool requires_grad = true);
    const Tensor& grad() const;  // undefined until backward reached this leaf
    // Gradients are added into `buffer` from now on (a piece of one flat buffer, say); undefined takes it away.
    void set_grad(Tensor buffer) const;
    const std::shared_ptr<GradientState>& gradient_state() const { return gradient_; }
    void set_gradient_state(std::shared_ptr<GradientState> state) { gradient_ = std::move(state); }

   private:
    std::shared_ptr<Storage> storage_;
    std::shared_ptr<GradientState> gradient_;
    Shape shape_;
    Shape strides_;
    std::int64_t offset_ = 0;  // in elements (of blocks' elements for quantised dtypes)
    DType dtype_ = DType::F32;
};

}  // namespace tessera
