// JPEG (ITU-T T.81), by libjpeg-turbo with its default transform and upsampling, which are Pillow's. Four components
// are inks: Pillow takes them as Adobe stores them, inverted, and so do we.
#include <cstdio>  // jpeglib.h needs it first

#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>
#include <cstdlib>
#include <cstring>

#include "tessera/core/error.h"
#include "tessera/core/function_ref.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/image/decoders.h"

namespace tessera::formats {
namespace {

constexpr const char* kind = "JPEG";
// Each scan of a progressive file passes over the whole image, whatever it brings. Encoders write ten to twenty.
constexpr int most_scans = 100;
constexpr std::int64_t most_scanned_pixels = std::int64_t{1} << 30;

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
    // Warnings mend what can be mended; an image that is not all there cannot.
    static void on_message(j_common_ptr info, int level) {
        if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) leave(info, "the file ends before the image does");
    }
    static void on_progress(j_common_ptr info) {
        const auto& jpeg = *reinterpret_cast<j_decompress_ptr>(info);
        const std::int64_t pixels = std::int64_t{jpeg.image_width} * jpeg.image_height;
        if (jpeg.input_scan_number > most_scans || jpeg.input_scan_number * pixels > most_scanned_pixels)
            leave(info, "more scans than any encoder writes");
    }

    const ImageFile& file_;
    jpeg_decompress_struct info_{};
    jpeg_error_mgr errors_{};
    jpeg_progress_mgr progress_{};
    std::jmp_buf jump_{};
    char message_[JMSG_LENGTH_MAX] = {};
};

// Of the segments before the first scan. libjpeg would copy each of them first.
int orientation_of(std::span<const std::uint8_t> left) {
    constexpr std::uint8_t metadata_marker = JPEG_APP0 + 1, scan_marker = 0xda;
    constexpr std::size_t head = 4;  // the marker, and the length with itself
    constexpr std::string_view exif("Exif\0\0", 6), xmp("http://ns.adobe.com/xap/1.0/\0", 29);
    int of_exif = 0, of_xmp = 0;
    left = left.subspan(2);
    while (left.size() >= head && !(left[0] == 0xff && left[1] == scan_marker)) {
        if (left[0] != 0xff || left[1] == 0xff) {  // filling
            left = left.subspan(1);
            continue;
        }
        const std::size_t length = std::size_t{left[2]} << 8 | left[3];
        if (length < 2 || length > left.size() - 2) break;
        const std::span<const std::uint8_t> data = left.subspan(head, length - 2);
        const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
        const bool is_metadata = left[1] == metadata_marker;
        if (is_metadata && text.starts_with(exif) && of_exif == 0)
            of_exif = exif_orientation(data.subspan(exif.size()));
        if (is_metadata && text.starts_with(xmp) && of_xmp == 0) of_xmp = xmp_orientation(data.subspan(xmp.size()));
        left = left.subspan(2 + length);
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

// As it is stored.
Image decoded(const ImageFile& file) {
    Reader reader(file);
    const jpeg_decompress_struct& info = reader.info();
    reader.guarded([&](jpeg_decompress_struct& jpeg) {
        jpeg_mem_src(&jpeg, file.data(), file.bytes.size());
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
    return image;
}

// Compresses. The same holds for it: it leaves by longjmp, and nothing with a destructor lives in between.
class Encoder {
   public:
    Encoder() {
        info_.err = jpeg_std_error(&errors_);
        info_.client_data = this;
        errors_.error_exit = [](j_common_ptr info) {
            auto* encoder = static_cast<Encoder*>(info->client_data);
            info->err->format_message(info, encoder->message_);
            std::longjmp(encoder->jump_, 1);
        };
    }
    ~Encoder() {
        jpeg_destroy_compress(&info_);
        std::free(bytes_);
    }
    Encoder(const Encoder&) = delete;
    Encoder& operator=(const Encoder&) = delete;

    std::span<const std::byte> encode(const Image& image, const std::string& name) {
        if (setjmp(jump_) != 0) fail(name, ": cannot encode the image: ", std::string_view(message_));
        compress(image);
        return std::as_bytes(std::span(bytes_, count_));
    }

   private:
    void compress(const Image& image) {
        constexpr int quality = 95;
        jpeg_create_compress(&info_);
        jpeg_mem_dest(&info_, &bytes_, &count_);
        info_.image_width = static_cast<JDIMENSION>(image.width);
        info_.image_height = static_cast<JDIMENSION>(image.height);
        info_.input_components = 3;
        info_.in_color_space = JCS_RGB;
        jpeg_set_defaults(&info_);
        jpeg_set_quality(&info_, quality, TRUE);
        info_.comp_info[0].h_samp_factor = info_.comp_info[0].v_samp_factor = 1;  // colours are as sharp as brightness
        jpeg_start_compress(&info_, TRUE);
        for (std::int64_t y = 0; y < image.height; ++y) {
            auto* row = const_cast<JSAMPROW>(image.row(y));
            jpeg_write_scanlines(&info_, &row, 1);
        }
        jpeg_finish_compress(&info_);
    }

    jpeg_compress_struct info_{};
    jpeg_error_mgr errors_{};
    std::jmp_buf jump_{};
    char message_[JMSG_LENGTH_MAX] = {};
    unsigned char* bytes_ = nullptr;
    unsigned long count_ = 0;
};

}  // namespace

Image decode_jpeg(const ImageFile& file) {
    return upright(decoded(file), orientation_of({file.data(), file.bytes.size()}));
}

void write_jpeg(const std::filesystem::path& path, const Image& image) {
    check(
        image.width > 0 && image.height > 0 && image.width <= JPEG_MAX_DIMENSION && image.height <= JPEG_MAX_DIMENSION,
        path.string(), ": cannot write an image of ", image.width, " × ", image.height, " pixels as JPEG");
    Encoder encoder;
    const std::span<const std::byte> bytes = encoder.encode(image, path.string());
    AtomicFile out(path);
    out.write(bytes);
    out.commit();
}

}  // namespace tessera::formats
