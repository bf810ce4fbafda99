// PNG (W3C Recommendation, third edition), by libpng: every colour type and depth to 8-bit RGB. Of 16 bits the upper 8
// are kept, as Pillow does; gamma and profiles are left alone, as there too.
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <string_view>

#include "tessera/core/error.h"
#include "tessera/core/function_ref.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/image/decoders.h"

namespace tessera::formats {
namespace {

constexpr const char* kind = "PNG";

// libpng leaves by longjmp. Each call into it goes through `guarded`, so that no frame with a destructor is jumped
// over.
class Reader {
   public:
    explicit Reader(const ImageFile& file) : file_(file), left_(file.bytes) {
        png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, [](png_structp, png_const_charp) {});
        info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
        if (info_ == nullptr) {
            png_destroy_read_struct(&png_, nullptr, nullptr);
            file.reject(kind, "no memory for the decoder");
        }
        png_set_read_fn(png_, this, read);
    }
    ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    void guarded(FunctionRef<void(png_structp png, png_infop info)> step) {
        if (setjmp(png_jmpbuf(png_)) != 0) file_.reject(kind, message_);
        step(png_, info_);
    }

   private:
    static void on_error(png_structp png, png_const_charp message) {
        auto* reader = static_cast<Reader*>(png_get_error_ptr(png));
        std::strncpy(reader->message_, message, sizeof reader->message_ - 1);
        png_longjmp(png, 1);
    }
    static void read(png_structp png, png_bytep to, std::size_t count) {
        auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
        if (count > reader->left_.size()) png_error(png, "the file ends before the image does");
        std::memcpy(to, reader->left_.data(), count);
        reader->left_ = reader->left_.subspan(count);
    }

    const ImageFile& file_;
    std::span<const std::byte> left_;
    png_structp png_ = nullptr;
    png_infop info_ = nullptr;
    char message_[128] = {};
};

// What the header says, and then: four bytes a pixel, red, green, blue, alpha.
void as_rgba(png_structp png) {
    png_set_expand(png);
    png_set_strip_16(png);
    png_set_gray_to_rgb(png);
    png_set_add_alpha(png, 0xff, PNG_FILLER_AFTER);
    png_set_interlace_handling(png);
}

// The orientation in the chunks eXIf and iTXt, where XMP stands uncompressed. libpng is not asked to keep them: a
// thousand chunks of a few bytes may each unpack to megabytes.
int orientation_of(std::span<const std::uint8_t> left) {
    constexpr std::string_view xmp("XML:com.adobe.xmp\0\0", 19);  // and not compressed
    constexpr std::size_t signature = 8, head = 8, checksum = 4;
    int of_xmp = 0;
    left = left.subspan(signature);
    while (left.size() >= head + checksum) {
        const std::size_t bytes =
            std::size_t{left[0]} << 24 | std::size_t{left[1]} << 16 | std::size_t{left[2]} << 8 | left[3];
        if (bytes > left.size() - head - checksum) break;
        const std::string_view name(reinterpret_cast<const char*>(left.data()) + 4, 4);
        const std::span<const std::uint8_t> data = left.subspan(head, bytes);
        if (name == "eXIf")
            if (const int orientation = exif_orientation(data); orientation != 0) return orientation;
        if (name == "iTXt" && of_xmp == 0 &&
            std::string_view(reinterpret_cast<const char*>(data.data()), bytes).starts_with(xmp))
            of_xmp = xmp_orientation(data);
        left = left.subspan(head + bytes + checksum);
    }
    return of_xmp;
}

// Deflate makes at most 1032 bytes of one.
void check_filled(const ImageFile& file, std::size_t row_bytes, std::size_t height) {
    constexpr std::size_t most_per_byte = 1032;
    if (row_bytes * height / most_per_byte > file.bytes.size())
        file.reject(kind, "the file ends before the image does");
}

}  // namespace

TransparentImage decode_png(const ImageFile& file) {
    Reader reader(file);
    png_uint_32 width = 0, height = 0;
    std::size_t stored_stride = 0;
    reader.guarded([&](png_structp png, png_infop info) {
        png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);             // ours are checked below
        png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);  // all that is not pixels
        png_read_info(png, info);
        width = png_get_image_width(png, info);
        height = png_get_image_height(png, info);
        stored_stride = png_get_rowbytes(png, info);
    });
    file.check_size(kind, width, height);
    check_filled(file, stored_stride, height);
    const std::size_t stride = std::size_t{width} * 4;
    TransparentImage image(width, height);
    std::vector<png_bytep> rows(height);
    for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = image.pixels.data() + y * stride;
    std::size_t decoded_stride = 0;
    reader.guarded([&](png_structp png, png_infop info) {
        as_rgba(png);
        png_read_update_info(png, info);
        decoded_stride = png_get_rowbytes(png, info);
    });
    if (decoded_stride != stride) file.reject(kind, "no decoder for this colour type");
    reader.guarded([&](png_structp png, png_infop) { png_read_image(png, rows.data()); });
    return upright(std::move(image), orientation_of({file.data(), file.bytes.size()}));
}

void write_png(const std::filesystem::path& path, const Image& image) {
    check(image.width > 0 && image.height > 0 && image.width < PNG_UINT_31_MAX && image.height < PNG_UINT_31_MAX,
          path.string(), ": cannot write an image of ", image.width, " × ", image.height, " pixels");
    png_image header{};
    header.version = PNG_IMAGE_VERSION;
    header.width = static_cast<png_uint_32>(image.width);
    header.height = static_cast<png_uint_32>(image.height);
    header.format = PNG_FORMAT_RGB;
    png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(header);
    std::vector<std::byte> encoded(bytes);
    const int done = png_image_write_to_memory(&header, encoded.data(), &bytes, 0, image.pixels.data(), 0, nullptr);
    check(done != 0, path.string(), ": cannot encode the image: ", std::string_view(header.message));
    AtomicFile out(path);
    out.write(std::span(encoded).first(bytes));
    out.commit();
}

}  // namespace tessera::formats
