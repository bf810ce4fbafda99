#include "tessera/data/image_files.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "tessera/core/mapped_file.h"
#include "tessera/core/parallel.h"
#include "tessera/formats/image/image.h"

namespace tessera::data {
namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const std::byte>;

std::string_view text_in(Bytes bytes, std::size_t at, std::size_t count) {
    return at + count <= bytes.size() ? std::string_view(reinterpret_cast<const char*>(bytes.data()) + at, count)
                                      : std::string_view();
}

std::int64_t big_endian(Bytes bytes, std::size_t at, std::size_t count) {
    std::int64_t value = 0;
    for (std::size_t i = at; i < at + count && i < bytes.size(); ++i)
        value = value << 8 | std::to_integer<std::int64_t>(bytes[i]);
    return value;
}

std::int64_t little_endian(Bytes bytes, std::size_t at, std::size_t count) {
    std::int64_t value = 0;
    for (std::size_t i = at + count; i-- > at;)
        value = value << 8 | (i < bytes.size() ? std::to_integer<std::int64_t>(bytes[i]) : 0);
    return value;
}

bool is_size(std::int64_t width, std::int64_t height) {
    const formats::ImageLimits limits;
    return width > 0 && height > 0 && width <= limits.side && height <= limits.side && width * height <= limits.pixels;
}

bool is_whole_png(Bytes file) {
    return text_in(file, 0, 8) == "\x89PNG\r\n\x1a\n" && text_in(file, 12, 4) == "IHDR" &&
           is_size(big_endian(file, 16, 4), big_endian(file, 20, 4)) && file.size() > 45 &&
           text_in(file, file.size() - 8, 4) == "IEND";
}

// From marker to marker as far as the frame's header.
bool is_whole_jpeg(Bytes file) {
    if (text_in(file, 0, 3) != "\xff\xd8\xff" || text_in(file, file.size() - 2, 2) != "\xff\xd9") return false;
    for (std::size_t at = 2; at + 9 < file.size() && big_endian(file, at, 1) == 0xff;) {
        const std::int64_t marker = big_endian(file, at + 1, 1);
        const bool is_frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
        if (is_frame) return is_size(big_endian(file, at + 7, 2), big_endian(file, at + 5, 2));
        at += 2 + static_cast<std::size_t>(big_endian(file, at + 2, 2));
    }
    return false;
}

bool is_whole_webp(Bytes file) {
    return text_in(file, 0, 4) == "RIFF" && text_in(file, 8, 7) == "WEBPVP8" &&
           little_endian(file, 4, 4) + 8 == static_cast<std::int64_t>(file.size()) && file.size() > 30;
}

bool is_whole_gif(Bytes file) {
    const std::string_view kind = text_in(file, 0, 6);
    return (kind == "GIF87a" || kind == "GIF89a") && is_size(little_endian(file, 6, 2), little_endian(file, 8, 2)) &&
           text_in(file, file.size() - 1, 1) == ";";
}

void check_image_file(const fs::path& path) {
    const MappedFile file(path);
    const Bytes bytes(file.data(), file.bytes());
    constexpr std::size_t least = 16;
    if (bytes.size() <= formats::ImageLimits().bytes && bytes.size() >= least &&
        (is_whole_png(bytes) || is_whole_jpeg(bytes) || is_whole_webp(bytes) || is_whole_gif(bytes)))
        return;
    formats::decode_image(bytes, path.string());  // says what is wrong
}

}  // namespace

bool is_image_file(const fs::path& file) {
    static const std::set<std::string> endings = {".png", ".jpg", ".jpeg", ".webp", ".gif"};
    std::string ending = file.extension().string();
    for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return endings.contains(ending);
}

void check_image_files(std::vector<fs::path> files, const OnProgress& on_progress) {
    std::sort(files.begin(), files.end());
    files.erase(std::unique(files.begin(), files.end()), files.end());
    constexpr std::int64_t at_once = 256;
    const auto all = static_cast<std::int64_t>(files.size());
    for (std::int64_t first = 0; first < all; first += at_once) {
        const std::int64_t count = std::min(at_once, all - first);
        parallel_for(count, 16, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) check_image_file(files[static_cast<std::size_t>(first + i)]);
        });
        if (on_progress) on_progress(static_cast<double>(first + count), static_cast<double>(all));
    }
}

}  // namespace tessera::data
