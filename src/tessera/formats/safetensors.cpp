#include "tessera/formats/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tessera/core/mapped_file.h"
#include "tessera/formats/json.h"
#include "tessera/formats/safetensors_header.h"

namespace tessera::formats {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data are little-endian");

struct Entry {
    std::string name;
    DType dtype = DType::F32;
    Shape shape;
    std::int64_t begin = 0;  // of its bytes, counted from the end of the header
    std::int64_t end = 0;
};

// Reads the header's entries; every error names the file and the tensor.
class HeaderReader {
   public:
    HeaderReader(const std::string& source, std::int64_t data_bytes) : source_(source), data_bytes_(data_bytes) {}

    std::vector<Entry> read(const Json& header) const {
        std::vector<Entry> entries;
        for (const auto& [name, value] : header.members())
            if (name != metadata_key) entries.push_back(entry(name, value));
        std::sort(entries.begin(), entries.end(),
                  [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
        check_coverage(entries);
        return entries;
    }

    Metadata metadata(const Json& header) const {
        const Json* found = header.find(metadata_key);
        if (found == nullptr) return {};
        check(found->is_object(), source_, ": ", metadata_key, ": expected an object, found ", *found);
        Metadata metadata;
        for (const auto& [key, value] : found->members()) {
            check(value.is_string(), source_, ": ", metadata_key, ": ", Json(key), ": expected a string, found ",
                  value);
            metadata[key] = value.as_string();
        }
        return metadata;
    }

   private:
    template <class... Parts>
    void require(bool holds, const std::string& name, const char* field, const Parts&... parts) const {
        check(holds, source_, ": tensor ", Json(name), ": ", field, ": ", parts...);
    }

    Entry entry(const std::string& name, const Json& value) const {
        check(value.is_object(), source_, ": tensor ", Json(name), ": expected an object, found ", value);
        Entry entry;
        entry.name = name;
        entry.dtype = dtype(name, field(name, value, "dtype"));
        entry.shape = shape(name, field(name, value, "shape"));
        const std::int64_t bytes = bytes_needed(entry);
        const Json& offsets = field(name, value, "data_offsets");
        require(offsets.is_array() && offsets.items().size() == 2, name, "data_offsets",
                "expected two integers, found ", offsets);
        entry.begin = natural(name, "data_offsets", offsets.items()[0]);
        entry.end = natural(name, "data_offsets", offsets.items()[1]);
        require(entry.begin <= entry.end, name, "data_offsets", "they end at ", entry.end, ", before their begin at ",
                entry.begin);
        require(entry.end <= data_bytes_, name, "data_offsets", "they end at ", entry.end, ", past the ", data_bytes_,
                " bytes of data in the file");
        require(entry.end - entry.begin == bytes, name, "data_offsets", entry.end - entry.begin, " bytes, but ",
                entry.dtype, " of shape ", entry.shape, " takes ", bytes);
        return entry;
    }

    const Json& field(const std::string& name, const Json& value, const char* wanted) const {
        const Json* found = value.find(wanted);
        require(found != nullptr, name, wanted, "missing");
        return *found;
    }

    std::int64_t natural(const std::string& name, const char* field, const Json& value) const {
        require(value.is_integer() && value.as_integer() >= 0, name, field, "expected an integer of at least 0, found ",
                value);
        return value.as_integer();
    }

    DType dtype(const std::string& name, const Json& value) const {
        require(value.is_string(), name, "dtype", "expected a string, found ", value);
        const auto* found = std::find_if(safetensors_dtypes.begin(), safetensors_dtypes.end(),
                                         [&](const auto& known) { return known.tag == value.as_string(); });
        require(found != safetensors_dtypes.end(), name, "dtype", value,
                " is not supported (F64, F32, BF16, F16, I64, I32, U8 and BOOL are)");
        return found->dtype;
    }

    Shape shape(const std::string& name, const Json& value) const {
        require(value.is_array(), name, "shape", "expected an array of integers, found ", value);
        require(value.items().size() <= std::size_t{max_rank}, name, "shape", value.items().size(),
                " dimensions are more than ", max_rank);
        Shape shape;
        for (const Json& dim : value.items()) shape.push_back(natural(name, "shape", dim));
        return shape;
    }

    // Even around a dimension of 0 the others must multiply to something sane, for strides are their products.
    std::int64_t bytes_needed(const Entry& entry) const {
        std::int64_t most = info(entry.dtype).block_bytes;
        for (const std::int64_t dim : entry.shape)
            require(!__builtin_mul_overflow(most, std::max<std::int64_t>(dim, 1), &most), entry.name, "shape",
                    entry.shape, " has more elements than memory can hold");
        return bytes_of(entry.dtype, entry.shape.elements());
    }

    // Sorted entries must follow each other, from the first byte of data to the last.
    void check_coverage(const std::vector<Entry>& entries) const {
        std::int64_t covered = 0;
        const Entry* before = nullptr;
        for (const Entry& entry : entries) {
            require(entry.begin >= covered, entry.name, "data_offsets", "they begin at ", entry.begin, " and overlap ",
                    Json(before ? before->name : ""), ", which ends at ", covered);
            require(entry.begin == covered, entry.name, "data_offsets", "a gap: bytes ", covered, " to ", entry.begin,
                    " belong to no tensor");
            covered = entry.end;
            before = &entry;
        }
        check(covered == data_bytes_, source_, ": data_offsets: the tensors end at ", covered, ", but the file has ",
              data_bytes_, " bytes of data");
    }

    const std::string& source_;
    std::int64_t data_bytes_;
};

void check_booleans(const std::string& source, const Entry& entry, std::span<const std::byte> bytes) {
    const auto wrong = std::find_if(bytes.begin(), bytes.end(), [](std::byte value) { return value > std::byte{1}; });
    check(wrong == bytes.end(), source, ": tensor ", Json(entry.name), ": BOOL data hold a byte other than 0 and 1");
}

Tensor tensor_over(std::span<std::byte> bytes, const Entry& entry, const std::shared_ptr<const void>& owner) {
    const auto alignment = static_cast<std::uintptr_t>(info(entry.dtype).block_bytes);
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0)
        return {std::make_shared<Storage>(cpu, bytes.data(), bytes.size(), owner), entry.dtype, entry.shape,
                contiguous_strides(entry.shape), 0};
    Tensor copy = Tensor::empty(entry.shape, entry.dtype);
    if (!bytes.empty()) std::memcpy(copy.storage()->data(), bytes.data(), bytes.size());
    return copy;
}

}  // namespace

Safetensors parse_safetensors(std::span<std::byte> file, const std::shared_ptr<const void>& owner,
                              const std::string& source) {
    std::uint64_t header_bytes = 0;
    check(file.size() >= sizeof header_bytes, source, ": ", file.size(), " bytes are too few for a safetensors file");
    std::memcpy(&header_bytes, file.data(), sizeof header_bytes);
    const std::span<std::byte> rest = file.subspan(sizeof header_bytes);
    check(header_bytes <= max_safetensors_header, source, ": header length ", header_bytes,
          " is more than the limit of ", max_safetensors_header);
    check(header_bytes <= rest.size(), source, ": header length ", header_bytes,
          " is past the end of the file, which has ", rest.size(), " bytes after it");
    const std::string_view text(reinterpret_cast<const char*>(rest.data()), header_bytes);
    const Json header = Json::parse(text, text_of(source, ": header"), {.bytes = max_safetensors_header, .depth = 8});
    check(header.is_object(), source, ": header: expected an object, found ", header);

    const std::span<std::byte> data = rest.subspan(header_bytes);
    const HeaderReader reader(source, static_cast<std::int64_t>(data.size()));
    Safetensors out{.tensors = {}, .metadata = reader.metadata(header)};
    for (const Entry& entry : reader.read(header)) {
        const auto bytes =
            data.subspan(static_cast<std::size_t>(entry.begin), static_cast<std::size_t>(entry.end - entry.begin));
        if (entry.dtype == DType::Bool) check_booleans(source, entry, bytes);
        out.tensors.emplace(entry.name, tensor_over(bytes, entry, owner));
    }
    return out;
}

Safetensors read_safetensors(const std::filesystem::path& path) {
    const auto file = std::make_shared<const MappedFile>(path);
    return parse_safetensors({file->data(), file->bytes()}, file, path.string());
}

}  // namespace tessera::formats
