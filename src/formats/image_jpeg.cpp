// JPEG (ITU-T T.81), by libjpeg-turbo with its default transform and upsampling, which are Pillow's. Four components
// are inks: Pillow takes them as Adobe stores them, inverted, and so do we.
#include <cstdio>  // jpeglib.h needs it first

#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>
#include <cstring>

#include "core/error.h"
#include "core/function_ref.h"
#include "formats/image_decoders.h"

namespace tessera::formats {
namespace {

constexpr const char* kind = "JPEG";
constexpr int most_scans = 500;  // each scan of a progressive file passes over the whole picture

// libjpeg leaves by longjmp. Each call into it goes through `guarded`, so that no frame with a destructor is jumped
// over.
class Reader {
   public:
    explicit Reader(const ImageFile& file) : file_(file) {
        info_.err = jpeg_std_error(&errors_);
        info_.client_data = this;
        errors_.error_exit = on_error;
        errors_.emit_message = on_message;
        progress_.progress_monitor = on_progress;
        guarded([](jpeg_decompress_struct& info) { jpeg_create_decompress(&info); });
        info_.progress = &progress_;
    }
    ~Reader() { jpeg_destroy_decompress(&info_); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    void guarded(FunctionRef<void(jpeg_decompress_struct& info)> step) {
        if (setjmp(jump_) != 0) file_.reject(kind, message_);
        step(info_);
    }

    jpeg_decompress_struct& info() { return info_; }

   private:
    static Reader& of(j_common_ptr info) { return *static_cast<Reader*>(info->client_data); }
    [[noreturn]] static void leave(j_common_ptr info, const char* message) {
        Reader& reader = of(info);
        std::strncpy(reader.message_, message, sizeof reader.message_ - 1);
        std::longjmp(reader.jump_, 1);
    }
    static void on_error(j_common_ptr info) {
        char message[JMSG_LENGTH_MAX] = {};
        info->err->format_message(info, message);
        leave(info, message);
    }
    // Warnings mend what can be mended; a picture that is not all there cannot.
    static void on_message(j_common_ptr info, int level) {
        if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) leave(info, "the file ends before the picture does");
    }
    static void on_progress(j_common_ptr info) {
        if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > most_scans)
            leave(info, "more scans than any encoder writes");
    }

    const ImageFile& file_;
    jpeg_decompress_struct info_{};
    jpeg_error_mgr errors_{};
    jpeg_progress_mgr progress_{};
    std::jmp_buf jump_{};
    char message_[JMSG_LENGTH_MAX] = {};
};

constexpr int metadata_marker = JPEG_APP0 + 1;

int orientation_of(const jpeg_decompress_struct& info) {
    constexpr std::string_view exif("Exif\0\0", 6), xmp("http://ns.adobe.com/xap/1.0/\0", 29);
    int of_exif = 0, of_xmp = 0;
    for (const jpeg_marker_struct* marker = info.marker_list; marker != nullptr; marker = marker->next) {
        const std::span<const std::uint8_t> data(marker->data, marker->data_length);
        const std::string_view text(reinterpret_cast<const char*>(marker->data), marker->data_length);
        if (text.starts_with(exif) && of_exif == 0) of_exif = exif_orientation(data.subspan(exif.size()));
        if (text.starts_with(xmp) && of_xmp == 0) of_xmp = xmp_orientation(data.subspan(xmp.size()));
    }
    return of_exif != 0 ? of_exif : of_xmp;
}

// Inks (stored as 255 − ink) to light.
void rgb_of_inks(const std::uint8_t* inks, std::uint8_t* rgb, std::int64_t width) {
    for (std::int64_t x = 0; x < width; ++x, inks += 4, rgb += 3)
        for (int c = 0; c < 3; ++c) rgb[c] = static_cast<std::uint8_t>(inks[3] - multiply_255(255u - inks[c], inks[3]));
}

J_COLOR_SPACE colours_of(const ImageFile& file, int components) {
    switch (components) {
        case 1: return JCS_GRAYSCALE;
        case 3: return JCS_RGB;
        case 4: return JCS_CMYK;
        default: file.reject(kind, text_of("no decoder for ", components, " components"));
    }
}

}  // namespace

Image decode_jpeg(const ImageFile& file) {
    Reader reader(file);
    const jpeg_decompress_struct& info = reader.info();
    reader.guarded([&](jpeg_decompress_struct& jpeg) {
        jpeg_mem_src(&jpeg, file.data(), file.bytes.size());
        jpeg_save_markers(&jpeg, metadata_marker, 0xffff);
        jpeg_read_header(&jpeg, TRUE);
    });
    const std::int64_t width = info.image_width, height = info.image_height;
    file.check_size(kind, width, height);
    const J_COLOR_SPACE colours = colours_of(file, info.num_components);
    reader.guarded([&](jpeg_decompress_struct& jpeg) {
        jpeg.out_color_space = colours;
        jpeg_start_decompress(&jpeg);
    });
    Image image(width, height);
    std::vector<std::uint8_t> line(static_cast<std::size_t>(width) * 4);
    for (std::int64_t y = 0; y < height; ++y) {
        std::uint8_t* row = colours == JCS_RGB ? image.row(y) : line.data();
        reader.guarded([&](jpeg_decompress_struct& jpeg) { jpeg_read_scanlines(&jpeg, &row, 1); });
        if (colours == JCS_CMYK) rgb_of_inks(row, image.row(y), width);
        if (colours == JCS_GRAYSCALE)
            for (std::int64_t x = 0; x < width; ++x) std::memset(image.row(y) + x * 3, row[x], 3);
    }
    return upright(std::move(image), orientation_of(info));
}

}  // namespace tessera::formats
