#include "formats/image_files.h"

#include <cstdio>  // jpeglib.h needs it first

#include <jpeglib.h>
#include <png.h>

namespace tessera::testing {

namespace {

std::string png_with(const PngSource& source, png_text* text) {
    std::string bytes;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(
        png, &bytes,
        [](png_structp writer, png_bytep data, std::size_t count) {
            static_cast<std::string*>(png_get_io_ptr(writer))->append(reinterpret_cast<char*>(data), count);
        },
        nullptr);
    png_set_IHDR(png, info, static_cast<png_uint_32>(source.width), static_cast<png_uint_32>(source.height),
                 source.depth, source.colour_type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_color_16 transparent{};
    transparent.gray = static_cast<png_uint_16>(source.transparent_grey);
    if (source.transparent_grey >= 0) png_set_tRNS(png, info, nullptr, 0, &transparent);
    if (text != nullptr) png_set_text(png, info, text, 1);
    png_write_info(png, info);
    const std::size_t stride = png_get_rowbytes(png, info);
    for (int y = 0; y < source.height; ++y)
        png_write_row(png,
                      reinterpret_cast<png_const_bytep>(source.rows.data()) + static_cast<std::size_t>(y) * stride);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return bytes;
}

}  // namespace

std::string png_of(const PngSource& source) { return png_with(source, nullptr); }

std::string text_chunk(const std::string& key, const std::string& text, PngText kind) {
    std::string own_key = key, own_text = text;
    png_text written{};
    written.compression = kind == PngText::Packed ? PNG_TEXT_COMPRESSION_zTXt
                          : kind == PngText::Utf8 ? PNG_ITXT_COMPRESSION_NONE
                                                  : PNG_ITXT_COMPRESSION_zTXt;
    written.key = own_key.data();
    written.text = own_text.data();
    written.text_length = own_text.size();
    const std::string bytes = png_with({.width = 1, .height = 1, .rows = "x"}, &written);
    constexpr std::size_t signature_and_header = 8 + 25, head = 4;
    return bytes.substr(signature_and_header, bytes.rfind("IDAT") - head - signature_and_header);
}

namespace {

// The flat parts first, then one frequency after another.
std::vector<jpeg_scan_info> scans_of(const JpegSource& source) {
    std::vector<jpeg_scan_info> scans;
    for (int i = 0; i < source.scans; ++i) {
        jpeg_scan_info scan{};
        scan.comps_in_scan = 1;
        scan.component_index[0] = i % source.components;
        scan.Ss = scan.Se = i / source.components;
        scans.push_back(scan);
    }
    return scans;
}

}  // namespace

std::string jpeg_of(const JpegSource& source) {
    jpeg_compress_struct jpeg{};
    jpeg_error_mgr errors{};
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    unsigned char* data = nullptr;
    unsigned long bytes = 0;
    jpeg_mem_dest(&jpeg, &data, &bytes);
    jpeg.image_width = static_cast<JDIMENSION>(source.width);
    jpeg.image_height = static_cast<JDIMENSION>(source.height);
    jpeg.input_components = source.components;
    jpeg.in_color_space = source.components == 1 ? JCS_GRAYSCALE : source.components == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&jpeg);
    if (source.separate_black) jpeg_set_colorspace(&jpeg, JCS_YCCK);
    jpeg.write_Adobe_marker = source.adobe_marker ? TRUE : FALSE;
    jpeg_set_quality(&jpeg, 100, TRUE);
    const std::vector<jpeg_scan_info> scans = scans_of(source);
    if (!scans.empty()) {
        jpeg.scan_info = scans.data();
        jpeg.num_scans = static_cast<int>(scans.size());
    }
    jpeg_start_compress(&jpeg, TRUE);
    std::string line;
    for (int x = 0; x < source.width; ++x)
        line.append(reinterpret_cast<const char*>(source.values), static_cast<std::size_t>(source.components));
    auto* row = reinterpret_cast<JSAMPROW>(line.data());
    for (int y = 0; y < source.height; ++y) jpeg_write_scanlines(&jpeg, &row, 1);
    jpeg_finish_compress(&jpeg);
    std::string file(reinterpret_cast<char*>(data), bytes);
    jpeg_destroy_compress(&jpeg);
    std::free(data);
    return file;
}

std::string with_orientation(const std::string& jpeg, int orientation, bool big_endian) {
    const auto number = [&](unsigned value, int count) {
        std::string text;
        for (int i = 0; i < count; ++i) text += static_cast<char>(value >> (8 * (big_endian ? count - 1 - i : i)));
        return text;
    };
    std::string exif("Exif\0\0", 6);
    exif += (big_endian ? "MM" : "II") + number(42, 2) + number(8, 4);
    exif += number(2, 2);                                                                    // two entries
    exif += number(0x0100, 2) + number(3, 2) + number(1, 4) + number(77, 2) + number(0, 2);  // another tag before it
    exif += number(0x0112, 2) + number(3, 2) + number(1, 4) + number(static_cast<unsigned>(orientation), 2);
    exif += number(0, 2) + number(0, 4);
    const auto length = static_cast<unsigned>(exif.size() + 2);
    const std::string marker{'\xff', '\xe1', static_cast<char>(length >> 8), static_cast<char>(length)};
    return jpeg.substr(0, 2) + marker + exif + jpeg.substr(2);
}

}  // namespace tessera::testing
