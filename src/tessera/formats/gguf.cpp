#include "tessera/formats/gguf.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tessera/core/mapped_file.h"
#include "tessera/formats/byte_reader.h"
#include "tessera/formats/gguf_types.h"

namespace tessera::formats {
namespace {

constexpr std::uint32_t magic = 0x46554747;                    // "GGUF"
constexpr std::size_t least_metadata_bytes = 8 + 4 + 1;        // key length, type, value
constexpr std::size_t least_tensor_bytes = 8 + 4 + 8 + 4 + 8;  // name length, rank, one dimension, type, offset
constexpr std::int64_t default_alignment = 32;

struct Record {
    std::string name;
    DType dtype = DType::F32;
    Shape shape = {};
    std::uint64_t offset = 0;  // from the beginning of the data
    std::uint64_t bytes = 0;   // 0 where the type is unreadable
    std::optional<UnreadableTensor> unreadable = {};
};

class Parser {
   public:
    Parser(std::span<std::byte> file, const std::string& source) : file_(file), source_(source), in_(file, source) {}

    Gguf parse(const std::shared_ptr<const void>& owner) {
        Gguf out{.source = source_};
        check_version();
        const auto tensor_count = in_.read<std::uint64_t>("tensor_count");
        const auto metadata_count = in_.read<std::uint64_t>("metadata_kv_count");
        in_.check_count(metadata_count, least_metadata_bytes, "metadata_kv_count");
        for (std::uint64_t i = 0; i < metadata_count; ++i) read_pair(out.metadata);
        const std::uint64_t alignment = alignment_of(out);
        in_.check_count(tensor_count, least_tensor_bytes, "tensor_count");
        std::vector<Record> records;
        for (std::uint64_t i = 0; i < tensor_count; ++i) records.push_back(read_record(alignment));
        const std::span<std::byte> data = data_after(alignment);
        check_places(records, data.size());
        for (const Record& record : records) {
            const auto place = data.subspan(record.offset, record.bytes);
            const bool is_read = !record.unreadable;
            if (!is_read) out.unreadable.emplace(record.name, *record.unreadable);
            const bool is_new = out.tensors
                                    .emplace(record.name, is_read ? tensor_over(place, record, owner)
                                                                  : Tensor::deferred(record.shape, DType::F32))
                                    .second;
            check(is_new, source_, ": tensor ", shown(record.name), ": the name is given twice");
        }
        return out;
    }

   private:
    void check_version() {
        check(in_.read<std::uint32_t>("magic") == magic, source_, ": magic: not a GGUF file");
        const auto version = in_.read<std::uint32_t>("version");
        check(version == 0 || (version & 0xffffffu) != 0, source_, ": version: ", version >> 24,
              " in big-endian order; only little-endian files are supported");
        check(version == 2 || version == 3, source_, ": version: ", version, " is not supported (2 and 3 are)");
    }

    std::string read_text(std::string_view field) {
        const auto length = in_.read<std::uint64_t>(field);
        return std::string(in_.text(length, field));
    }

    void read_pair(std::map<std::string, GgufValue>& metadata) {
        std::string key = read_text(text_of("metadata key ", metadata.size()));
        check(!key.empty(), source_, ": metadata key ", metadata.size(), ": is empty");
        const std::string field = text_of("metadata ", shown(key));
        check(!metadata.contains(key), source_, ": ", field, ": the key is given twice");
        const auto type = in_.read<std::uint32_t>(field);
        GgufValue value = type == gguf_array ? read_array(field) : read_scalar(type, field);
        metadata.emplace(std::move(key), std::move(value));
    }

    template <class T>
    std::int64_t read_integer(std::string_view field) {
        const T value = in_.read<T>(field);
        check(std::in_range<std::int64_t>(value), source_, ": ", field, ": ", value, " is past 63 bits");
        return static_cast<std::int64_t>(value);
    }

    bool read_boolean(std::string_view field) {
        const auto value = in_.read<std::uint8_t>(field);
        check(value <= 1, source_, ": ", field, ": ", value, " is neither true (1) nor false (0)");
        return value == 1;
    }

    // Calls visitor(bytes a value takes at least, how to read one) for a type other than array.
    template <class Visitor>
    GgufValue visit_type(std::uint32_t type, std::string_view field, Visitor&& visitor) {
        const auto integer = [&]<class T>(Type<T>) {
            return visitor(sizeof(T), [&] { return read_integer<T>(field); });
        };
        switch (type) {
            case 0: return integer(Type<std::uint8_t>{});
            case 1: return integer(Type<std::int8_t>{});
            case 2: return integer(Type<std::uint16_t>{});
            case 3: return integer(Type<std::int16_t>{});
            case 4: return integer(Type<std::uint32_t>{});
            case 5: return integer(Type<std::int32_t>{});
            case 6: return visitor(sizeof(float), [&] { return static_cast<double>(in_.read<float>(field)); });
            case 7: return visitor(1, [&] { return read_boolean(field); });
            case 8: return visitor(8, [&] { return read_text(field); });
            case 10: return integer(Type<std::uint64_t>{});
            case 11: return integer(Type<std::int64_t>{});
            case 12: return visitor(sizeof(double), [&] { return in_.read<double>(field); });
            case gguf_array: fail(source_, ": ", field, ": arrays of arrays are not supported");
            default: fail(source_, ": ", field, ": unknown value type ", type);
        }
    }

    GgufValue read_scalar(std::uint32_t type, std::string_view field) {
        return visit_type(type, field, [](std::size_t, auto read) -> GgufValue { return read(); });
    }

    GgufValue read_array(std::string_view field) {
        const auto type = in_.read<std::uint32_t>(field);
        const auto count = in_.read<std::uint64_t>(field);
        return visit_type(type, field, [&](std::size_t least_bytes, auto read) -> GgufValue {
            in_.check_count(count, least_bytes, field);
            std::vector<decltype(read())> values;
            values.reserve(static_cast<std::size_t>(count));
            for (std::uint64_t i = 0; i < count; ++i) values.push_back(read());
            return values;
        });
    }

    std::uint64_t alignment_of(const Gguf& gguf) const {
        const std::int64_t alignment = gguf.integer("general.alignment", default_alignment);
        const bool fits = alignment >= 1 && alignment <= (1 << 30) && (alignment & (alignment - 1)) == 0;
        check(fits, source_, ": general.alignment: ", alignment, " is not a power of two from 1 to 2^30");
        return static_cast<std::uint64_t>(alignment);
    }

    Record read_record(std::uint64_t alignment) {
        Record record{.name = read_text("tensor name")};
        check(!record.name.empty(), source_, ": tensor name: is empty");
        const std::string field = text_of("tensor ", shown(record.name));
        read_shape(record, field);
        const auto type = in_.read<std::uint32_t>(field);
        const std::optional<DType> dtype = dtype_of_gguf_type(type);
        record.dtype = dtype.value_or(DType::F32);
        const DTypeInfo& facts = info(record.dtype);
        const std::int64_t width = record.shape.at(-1);
        check(width % facts.block_elements == 0, source_, ": ", field, ": rows of ", width, " are not whole blocks of ",
              facts.block_elements, " (", facts.name, ")");
        record.bytes = bytes_needed(record, field);
        if (!dtype) {
            record.bytes = 0;
            record.unreadable = {gguf_type_name(type), gguf_type_bytes(type, record.shape.elements())};
        }
        record.offset = in_.read<std::uint64_t>(field);
        check(record.offset % alignment == 0, source_, ": ", field, ": offset ", record.offset,
              " is not a multiple of the alignment ", alignment);
        return record;
    }

    void read_shape(Record& record, const std::string& field) {
        const auto rank = in_.read<std::uint32_t>(field);
        check(rank >= 1 && rank <= gguf_max_rank, source_, ": ", field, ": rank: expected 1 to ", gguf_max_rank,
              " dimensions, found ", rank);
        record.shape = Shape::of_rank(static_cast<int>(rank));
        for (int dim = record.shape.rank() - 1; dim >= 0; --dim) {
            const auto size = in_.read<std::uint64_t>(field);
            check(size >= 1 && size <= std::numeric_limits<std::int64_t>::max(), source_, ": ", field,
                  ": a dimension of ", size);
            record.shape[dim] = static_cast<std::int64_t>(size);
        }
    }

    std::uint64_t bytes_needed(const Record& record, const std::string& field) const {
        std::int64_t elements = 1;
        bool fits = true;
        for (const std::int64_t size : record.shape) fits = fits && !__builtin_mul_overflow(elements, size, &elements);
        fits = fits && elements <= std::numeric_limits<std::int64_t>::max() / info(record.dtype).block_bytes;
        check(fits, source_, ": ", field, ": shape ", record.shape, " has more elements than memory can hold");
        return static_cast<std::uint64_t>(bytes_of(record.dtype, elements));
    }

    std::span<std::byte> data_after(std::uint64_t alignment) const {
        const std::size_t begin = (in_.position() + alignment - 1) / alignment * alignment;
        return file_.subspan(std::min(begin, file_.size()));  // a file without tensors may end before its padding
    }

    // Within the data, and no two of them over the same bytes. Gaps are padding.
    void check_places(const std::vector<Record>& records, std::uint64_t data_bytes) const {
        std::vector<const Record*> sorted;
        for (const Record& record : records) sorted.push_back(&record);
        std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
        const Record* before = nullptr;
        for (const Record* record : sorted) {
            const bool inside = record->offset <= data_bytes && record->bytes <= data_bytes - record->offset;
            check(inside, source_, ": tensor ", shown(record->name), ": ", record->bytes, " bytes at offset ",
                  record->offset, " pass the end of the file's ", data_bytes, " bytes of data");
            check(!before || before->offset + before->bytes <= record->offset, source_, ": tensor ",
                  shown(record->name), ": its data at offset ", record->offset, " overlap those of ",
                  shown(before ? before->name : ""));
            before = record;
        }
    }

    static Tensor tensor_over(std::span<std::byte> bytes, const Record& record,
                              const std::shared_ptr<const void>& owner) {
        const auto alignment = is_quantised(record.dtype) ? 1u : static_cast<unsigned>(info(record.dtype).block_bytes);
        if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0)
            return {std::make_shared<Storage>(cpu, bytes.data(), bytes.size(), owner), record.dtype, record.shape,
                    contiguous_strides(record.shape), 0};
        Tensor copy = Tensor::empty(record.shape, record.dtype);
        std::memcpy(copy.storage()->data(), bytes.data(), bytes.size());
        return copy;
    }

    std::span<std::byte> file_;
    const std::string& source_;
    ByteReader in_;
};

template <class T>
const T& value_of(const Gguf& gguf, const std::string& key, const char* wanted) {
    const auto found = gguf.metadata.find(key);
    check(found != gguf.metadata.end(), gguf.source, ": ", key, ": missing");
    const T* value = std::get_if<T>(&found->second);
    check(value != nullptr, gguf.source, ": ", key, ": expected ", wanted);
    return *value;
}

}  // namespace

Gguf parse_gguf(std::span<std::byte> file, const std::shared_ptr<const void>& owner, const std::string& source) {
    return Parser(file, source).parse(owner);
}

Gguf read_gguf(const std::filesystem::path& path) {
    const auto file = std::make_shared<const MappedFile>(path);
    return parse_gguf({file->data(), file->bytes()}, file, path.string());
}

std::int64_t Gguf::integer(const std::string& key) const { return value_of<std::int64_t>(*this, key, "an integer"); }
std::int64_t Gguf::integer(const std::string& key, std::int64_t fallback) const {
    return has(key) ? integer(key) : fallback;
}
double Gguf::number(const std::string& key) const {
    if (has(key) && std::holds_alternative<std::int64_t>(metadata.at(key))) return static_cast<double>(integer(key));
    return value_of<double>(*this, key, "a number");
}
double Gguf::number(const std::string& key, double fallback) const { return has(key) ? number(key) : fallback; }
bool Gguf::boolean(const std::string& key) const { return value_of<bool>(*this, key, "true or false"); }
bool Gguf::boolean(const std::string& key, bool fallback) const { return has(key) ? boolean(key) : fallback; }
const std::string& Gguf::text(const std::string& key) const { return value_of<std::string>(*this, key, "a string"); }
std::string Gguf::text(const std::string& key, const std::string& fallback) const {
    return has(key) ? text(key) : fallback;
}
const std::vector<std::int64_t>& Gguf::integers(const std::string& key) const {
    return value_of<std::vector<std::int64_t>>(*this, key, "an array of integers");
}
const std::vector<double>& Gguf::numbers(const std::string& key) const {
    return value_of<std::vector<double>>(*this, key, "an array of numbers");
}
const std::vector<std::string>& Gguf::texts(const std::string& key) const {
    return value_of<std::vector<std::string>>(*this, key, "an array of strings");
}

const Tensor& Gguf::tensor(const std::string& name) const {
    const auto found = tensors.find(name);
    check(found != tensors.end(), source, ": tensor '", name, "': missing");
    return found->second;
}

}  // namespace tessera::formats
