#include "tessera/tensor/tensor.h"

#include <algorithm>
#include <cstring>

#include "tessera/kernels/memory.h"
#include "tessera/tensor/tape.h"

namespace tessera {

Tensor::Tensor(std::shared_ptr<Storage> storage, DType dtype, Shape shape, Shape strides, std::int64_t offset)
    : storage_(std::move(storage)), shape_(shape), strides_(strides), offset_(offset), dtype_(dtype) {}

Tensor Tensor::empty(Shape shape, DType dtype, Device device) {
    const auto bytes = static_cast<std::size_t>(bytes_of(dtype, shape.elements()));
    return {Storage::of(device, bytes), dtype, shape, contiguous_strides(shape), 0};
}

Tensor Tensor::deferred(Shape shape, DType dtype, Device device) {
    return {Storage::without_memory(device), dtype, shape, contiguous_strides(shape), 0};
}

Tensor Tensor::zeros(Shape shape, DType dtype, Device device) {
    Tensor out = empty(shape, dtype, device);
    driver(device.kind).zero(out.storage_->data(), out.storage_->bytes(), device.index);
    return out;
}

Tensor Tensor::full(Shape shape, double value, DType dtype, Device device) {
    Tensor out = empty(shape, dtype, device);
    out.fill(value);
    return out;
}

Tensor Tensor::arange(std::int64_t count, DType dtype, Device device) {
    const Tensor out = empty({count}, dtype, cpu);
    visit_plain(dtype, "arange", [&]<class T>(Type<T>) {
        for (std::int64_t i = 0; i < count; ++i) {
            if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>)
                out.data<T>()[i] = T(static_cast<float>(i));
            else
                out.data<T>()[i] = static_cast<T>(i);
        }
    });
    return out.to(device);
}

template <class T>
Tensor Tensor::from(std::span<const T> values, Shape shape) {
    check(static_cast<std::int64_t>(values.size()) == shape.elements(), values.size(), " values do not fill shape ",
          shape);
    Tensor out = empty(shape, dtype_of<T>, cpu);
    std::copy(values.begin(), values.end(), out.data<T>());
    return out;
}

bool Tensor::is_contiguous() const { return View{nullptr, dtype_, device(), shape_, strides_}.is_contiguous(); }

View Tensor::view() const {
    if (!storage_) return {};
    check(!is_deferred(), "tensor of shape ", shape_, " has no values yet: load or initialise it first");
    auto* start = static_cast<std::byte*>(storage_->data()) + bytes_of(dtype_, offset_);
    return {start, dtype_, storage_->device(), shape_, strides_};
}

template <class T>
T* Tensor::data() const {
    check(defined(), "undefined tensor has no data");
    check(dtype_ == dtype_of<T>, "tensor of ", dtype_, " read as ", dtype_of<T>);
    check(device().kind == DeviceKind::CPU, "tensor on ", device(), " read on the host");
    check(!is_deferred(), "tensor of shape ", shape_, " has no values yet: load or initialise it first");
    return static_cast<T*>(storage_->data()) + offset_;
}

template <class T>
std::vector<T> Tensor::to_vector() const {
    const Tensor host = detach().to(cpu).to(dtype_of<T>).contiguous();
    const T* start = host.data<T>();
    return std::vector<T>(start, start + host.elements());
}

double Tensor::item() const {
    check(elements() == 1, "item() needs one element, not shape ", shape_);
    return to_vector<double>()[0];
}

Tensor Tensor::with_layout(Shape shape, Shape strides, std::int64_t offset) const {
    return {storage_, dtype_, shape, strides, offset};
}

Tensor Tensor::detach() const { return {storage_, dtype_, shape_, strides_, offset_}; }

Tensor Tensor::clone() const {
    Tensor out = empty_like();
    out.copy_from(*this);
    return out;
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::to(Device target) const {
    if (target == device()) return *this;
    const Tensor dense = contiguous();
    Tensor out = empty(shape_, dtype_, target);
    const DeviceKind kind = target.kind == DeviceKind::CPU ? device().kind : target.kind;
    driver(kind).copy(out.storage_->data(), target, dense.view().data, device(), out.storage_->bytes());
    return out;
}

Tensor Tensor::to(DType target) const {
    if (target == dtype_) return *this;
    Tensor out = empty(shape_, target, device());
    out.copy_from(*this);
    return out;
}

void Tensor::copy_from(const Tensor& source) const {
    check(source.shape() == shape_, "copy: shape ", source.shape(), " into ", shape_);
    kernels::copy.on(device())(source.to(device()).view(), view());
}

void Tensor::fill(double value) const { kernels::fill.on(device())(value, view()); }

bool Tensor::requires_grad() const { return gradient_ != nullptr; }

Tensor& Tensor::set_requires_grad(bool requires_grad) {
    check(!requires_grad || is_float(dtype_), "a tensor of ", dtype_, " cannot have a gradient");
    if (!requires_grad)
        gradient_.reset();
    else if (!gradient_)
        gradient_ = std::make_shared<GradientState>();
    return *this;
}

const Tensor& Tensor::grad() const {
    check(gradient_ != nullptr, "grad() of a tensor that does not require a gradient");
    return gradient_->grad;
}

void Tensor::set_grad(Tensor buffer) const {
    check(gradient_ != nullptr, "set_grad() of a tensor that does not require a gradient");
    check(!buffer.defined() || buffer.shape() == shape_, "gradient buffer of shape ", buffer.shape(),
          " for a tensor of ", shape_);
    gradient_->grad = std::move(buffer);
}

#define TESSERA_ELEMENT(T)                                      \
    template Tensor Tensor::from<T>(std::span<const T>, Shape); \
    template T* Tensor::data<T>() const;                        \
    template std::vector<T> Tensor::to_vector<T>() const;
TESSERA_ELEMENT(double)
TESSERA_ELEMENT(float)
TESSERA_ELEMENT(BFloat16)
TESSERA_ELEMENT(Float16)
TESSERA_ELEMENT(std::int64_t)
TESSERA_ELEMENT(std::int32_t)
TESSERA_ELEMENT(std::uint8_t)
#undef TESSERA_ELEMENT
template bool* Tensor::data<bool>() const;

}  // namespace tessera
