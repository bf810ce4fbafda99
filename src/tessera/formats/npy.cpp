#include "tessera/formats/npy.h"

#include "tessera/core/error.h"
#include "tessera/formats/atomic_file.h"

namespace tessera::formats {
namespace {

const char* kind_of(DType dtype) {
    switch (dtype) {
        case DType::F32: return "<f4";
        case DType::F64: return "<f8";
        case DType::I64: return "<i8";
        case DType::I32: return "<i4";
        default: fail("npy: a tensor of ", name(dtype), " is converted to f32 first");
    }
}

}  // namespace

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
    const Tensor values = tensor.to(cpu).contiguous();
    std::string shape;
    for (int i = 0; i < values.rank(); ++i) shape += text_of(values.size(i), ",");
    std::string header =
        text_of("{'descr': '", kind_of(values.dtype()), "', 'fortran_order': False, 'shape': (", shape, "), }");
    constexpr std::size_t before = 10, alignment = 64;  // the magic, the version and the header's length
    header.append(alignment - (before + header.size() + 1) % alignment, ' ');
    header += '\n';
    AtomicFile file(path);
    file.write(std::string_view("\x93NUMPY\x01\x00", 8));
    const char length[2] = {static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
    file.write(std::string_view(length, 2));
    file.write(header);
    const View view = values.view();
    file.write(std::span(static_cast<const std::byte*>(view.data),
                         static_cast<std::size_t>(bytes_of(values.dtype(), values.elements()))));
    file.commit();
}

}  // namespace tessera::formats
