#include "tessera/formats/binary_data.h"

#include "tessera/core/error.h"

namespace tessera::formats {
namespace {

using namespace std::string_view_literals;

struct Magic {
    std::string_view bytes;
    std::string_view name;
    std::size_t at = 0;
    bool has_zeros = false;  // the magic alone could begin a text
};

constexpr Magic magics[] = {
    {"\x89PNG\r\n\x1A\n"sv, "a PNG image"},
    {"\xFF\xD8\xFF"sv, "a JPEG image"},
    {"GIF87a"sv, "a GIF image"},
    {"GIF89a"sv, "a GIF image"},
    {"WEBPVP8"sv, "a WebP image", 8},
    {"WAVEfmt "sv, "a WAV recording", 8},
    {"%PDF-"sv, "a PDF document"},
    {"PK\x03\x04"sv, "a zip archive, as .docx, .xlsx and PyTorch's files are too"},
    {"PK\x05\x06"sv, "an empty zip archive"},
    {"\x1F\x8B\x08"sv, "compressed by gzip"},
    {"\xFD"
     "7zXZ\0"sv,
     "compressed by xz"},
    {"\x28\xB5\x2F\xFD"sv, "compressed by zstd"},
    {"\x04\x22\x4D\x18"sv, "compressed by lz4"},
    {"BZh91AY&SY"sv, "compressed by bzip2"},
    {"7z\xBC\xAF\x27\x1C"sv, "a 7z archive"},
    {"ustar"sv, "a tar archive", 257},
    {"GGUF\1\0\0\0"sv, "a GGUF file of weights"},
    {"GGUF\2\0\0\0"sv, "a GGUF file of weights"},
    {"GGUF\3\0\0\0"sv, "a GGUF file of weights"},
    {"\0\0{\""sv, "a safetensors file of weights", 6},
    {"\x93NUMPY"sv, "a NumPy array"},
    {"\x89HDF\r\n\x1A\n"sv, "an HDF5 file"},
    {"PAR1\x15"sv, "a Parquet table"},
    {"ARROW1\0\0"sv, "an Arrow table"},
    {"SQLite format 3\0"sv, "an SQLite database"},
    {"\x7F"
     "ELF"sv,
     "a program"},
    {"MZ\x90\0"sv, "a program"},
    {"\0\0\xFE\xFF"sv, "text in UTF-32; it has to be UTF-8"},
    {"\xFF\xFE\0\0"sv, "text in UTF-32; it has to be UTF-8"},
    {"\xFE\xFF"sv, "text in UTF-16; it has to be UTF-8", 0, true},
    {"\xFF\xFE"sv, "text in UTF-16; it has to be UTF-8", 0, true},
};

}  // namespace

std::string_view binary_format(std::string_view bytes) {
    for (const Magic& magic : magics)
        if (bytes.size() >= magic.at && bytes.substr(magic.at).starts_with(magic.bytes) &&
            (!magic.has_zeros || bytes.find('\0') != bytes.npos))
            return magic.name;
    return {};
}

void check_is_text(std::string_view bytes, const std::string& source) {
    const std::string_view format = binary_format(bytes);
    check(format.empty(), source, ": is no text but ", format);
    const std::size_t zero = bytes.find('\0');
    check(zero == bytes.npos, source, ": is no text: byte ", zero, " is a zero");
}

}  // namespace tessera::formats
