#include <algorithm>
#include <cstring>

#include "tessera/formats/atomic_file.h"
#include "tessera/formats/json.h"
#include "tessera/formats/safetensors.h"
#include "tessera/formats/safetensors_header.h"

namespace tessera::formats {
namespace {

constexpr std::size_t data_alignment = 64;  // where the data begin in the file: a cache line, and the widest vector

using Named = std::pair<std::string, Tensor>;

std::string_view tag_of(DType dtype, const std::string& who) {
    const auto* found = std::find_if(safetensors_dtypes.begin(), safetensors_dtypes.end(),
                                     [&](const auto& known) { return known.dtype == dtype; });
    check(found != safetensors_dtypes.end(), who, ": safetensors has no dtype for ", dtype);
    return found->tag;
}

DType written_dtype(const Tensor& tensor, const SafetensorsOptions& options) {
    const bool is_real = is_float(tensor.dtype()) || is_quantised(tensor.dtype());
    return options.dtype && is_real ? *options.dtype : tensor.dtype();
}

// A number too large for f16 would silently become infinite.
void check_range(const Tensor& from, const Tensor& to, const std::string& who) {
    if (to.dtype() != DType::F16 || from.dtype() == DType::F16) return;
    const std::uint16_t infinite = 0x7c00;
    const auto* bits = static_cast<const std::uint16_t*>(to.view().data);
    for (std::int64_t i = 0; i < to.elements(); ++i)
        check((bits[i] & 0x7fff) != infinite, who, ": a value does not fit f16, whose largest is 65504; use bf16");
}

std::vector<const Named*> in_file_order(const std::string& path, const NamedTensors& tensors,
                                        const SafetensorsOptions& options) {
    const auto element_bytes = [&](const Tensor& tensor) { return info(written_dtype(tensor, options)).block_bytes; };
    std::vector<const Named*> order;
    for (const Named& named : tensors) {
        const std::string who = text_of(path, ": tensor ", Json(named.first));
        check(named.first != metadata_key, who, ": this name is taken by the format itself");
        check(named.second.defined() && !named.second.is_deferred(), who, ": has no values");
        tag_of(written_dtype(named.second, options), who);
        order.push_back(&named);
    }
    std::sort(order.begin(), order.end(), [&](const Named* a, const Named* b) {
        const int bytes_a = element_bytes(a->second), bytes_b = element_bytes(b->second);
        return bytes_a != bytes_b ? bytes_a > bytes_b : a->first < b->first;
    });
    return order;
}

std::string header_of(const std::string& path, const std::vector<const Named*>& order, const Metadata& metadata,
                      const SafetensorsOptions& options) {
    Json header = Json::object();
    if (!metadata.empty()) {
        Json texts = Json::object();
        for (const auto& [key, value] : metadata) texts.set(key, value);
        header.set(metadata_key, std::move(texts));
    }
    std::int64_t begin = 0;
    for (const auto* named : order) {
        const auto& [name, tensor] = *named;
        check(header.find(name) == nullptr, path, ": tensor ", Json(name), ": given twice");
        Json shape = Json::array();
        for (const std::int64_t dim : tensor.shape()) shape.push_back(dim);
        const DType dtype = written_dtype(tensor, options);
        const std::int64_t end = begin + bytes_of(dtype, tensor.elements());
        header.set(name, Json::object()
                             .set("dtype", tag_of(dtype, name))
                             .set("shape", std::move(shape))
                             .set("data_offsets", Json::array().push_back(begin).push_back(end)));
        begin = end;
    }
    std::string text = header.dump(0);
    while ((sizeof(std::uint64_t) + text.size()) % data_alignment != 0) text += ' ';
    check(text.size() <= max_safetensors_header, path, ": header of ", text.size(), " bytes is more than the limit of ",
          max_safetensors_header);
    return text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors, const Metadata& metadata,
                       const SafetensorsOptions& options) {
    const std::vector<const Named*> order = in_file_order(visible_path(path), tensors, options);
    const std::string header = header_of(visible_path(path), order, metadata, options);
    const std::uint64_t header_bytes = header.size();
    AtomicFile file(path);
    file.write(std::as_bytes(std::span(&header_bytes, 1)));
    file.write(header);
    for (const Named* named : order) {
        const Tensor given = named->second.detach().to(cpu);
        const Tensor host = given.to(written_dtype(given, options)).contiguous();
        check_range(given, host, text_of(visible_path(path), ": tensor ", Json(named->first)));
        const std::int64_t bytes = bytes_of(host.dtype(), host.elements());
        file.write({static_cast<const std::byte*>(host.view().data), static_cast<std::size_t>(bytes)});
        if (options.on_written) options.on_written(bytes);
    }
    file.commit();
}

}  // namespace tessera::formats
