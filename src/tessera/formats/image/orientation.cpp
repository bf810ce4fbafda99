// The orientation in EXIF (CIPA DC-008; the layout is TIFF 6.0's) and XMP (ISO 16684-1), and images turned by it.
#include <cstring>
#include <string_view>

#include "tessera/formats/image/decoders.h"

namespace tessera::formats {
namespace {

// Numbers of a TIFF in its byte order; 0 past the end.
struct Tiff {
    std::span<const std::uint8_t> bytes;
    bool big_endian;

    std::uint32_t number(std::size_t at, std::size_t count) const {
        if (at > bytes.size() || count > bytes.size() - at) return 0;
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t shift = 8 * (big_endian ? count - 1 - i : i);
            value |= std::uint32_t{bytes[at + i]} << shift;
        }
        return value;
    }
};

// Bit by bit: orientations past 4 exchange the axes; the others mirror one of them or both.
template <std::int64_t channels, class Image>
Image turned_by(Image image, int orientation) {
    if (orientation <= 1 || orientation > 8) return image;
    const bool exchanged = orientation >= 5;
    const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool from_below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    Image turned(exchanged ? image.height : image.width, exchanged ? image.width : image.height);
    std::uint8_t* to = turned.pixels.data();
    for (std::int64_t y = 0; y < turned.height; ++y)
        for (std::int64_t x = 0; x < turned.width; ++x, to += channels) {
            const std::int64_t column = exchanged ? y : x, line = exchanged ? x : y;
            const std::uint8_t* from = image.row(from_below ? image.height - 1 - line : line) +
                                       (from_right ? image.width - 1 - column : column) * channels;
            std::memcpy(to, from, channels);
        }
    return turned;
}

}  // namespace

int exif_orientation(std::span<const std::uint8_t> bytes) {
    constexpr std::uint32_t orientation_tag = 0x0112, byte_type = 1, short_type = 3, long_type = 4;
    if (bytes.size() >= 6 && std::memcmp(bytes.data(), "Exif\0", 6) == 0) bytes = bytes.subspan(6);
    if (bytes.size() < 8) return 0;
    const Tiff tiff{bytes, bytes[0] == 'M'};
    if (bytes[0] != bytes[1] || (bytes[0] != 'M' && bytes[0] != 'I') || tiff.number(2, 2) != 42) return 0;
    const std::size_t directory = tiff.number(4, 4);
    const std::uint32_t entries = tiff.number(directory, 2);
    for (std::uint32_t i = 0; i < entries; ++i) {
        const std::size_t entry = directory + 2 + std::size_t{i} * 12;
        if (tiff.number(entry, 2) != orientation_tag) continue;
        const std::uint32_t type = tiff.number(entry + 2, 2);
        const std::size_t size = type == byte_type ? 1 : type == short_type ? 2 : type == long_type ? 4 : 0;
        const std::uint32_t value = tiff.number(entry + 8, size);
        return value >= 1 && value <= 8 ? static_cast<int>(value) : 0;
    }
    return 0;
}

int xmp_orientation(std::span<const std::uint8_t> xml) {
    const std::string_view text(reinterpret_cast<const char*>(xml.data()), xml.size());
    constexpr std::string_view name = "tiff:Orientation";
    for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
        std::string_view value = text.substr(at + name.size());
        if (value.starts_with("=\""))
            value.remove_prefix(2);
        else if (value.starts_with(">"))
            value.remove_prefix(1);
        else
            continue;
        return !value.empty() && value[0] >= '1' && value[0] <= '8' ? value[0] - '0' : 0;
    }
    return 0;
}

Image upright(Image image, int orientation) { return turned_by<3>(std::move(image), orientation); }

TransparentImage upright(TransparentImage image, int orientation) {
    return turned_by<4>(std::move(image), orientation);
}

}  // namespace tessera::formats
