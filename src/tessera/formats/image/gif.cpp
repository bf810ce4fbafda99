// GIF (CompuServe's GIF89a, 1990), by giflib: the first frame on its screen.
#include <gif_lib.h>

#include <algorithm>
#include <cstring>

#include "tessera/core/error.h"
#include "tessera/formats/image/decoders.h"

namespace tessera::formats {
namespace {

constexpr const char* kind = "GIF";

class Reader {
   public:
    explicit Reader(const ImageFile& file) : file_(file), left_(file.bytes) {
        int error = 0;
        gif_ = DGifOpen(this, read, &error);
        if (gif_ == nullptr) file.reject(kind, reason_of(error));
    }
    ~Reader() { DGifCloseFile(gif_, nullptr); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    GifFileType& gif() { return *gif_; }
    void must(int status) const {
        if (status != GIF_OK) file_.reject(kind, reason_of(gif_->Error));
    }

   private:
    static int read(GifFileType* gif, GifByteType* to, int count) {
        auto& left = static_cast<Reader*>(gif->UserData)->left_;
        const std::size_t taken = std::min(left.size(), static_cast<std::size_t>(std::max(count, 0)));
        if (taken > 0) std::memcpy(to, left.data(), taken);
        left = left.subspan(taken);
        return static_cast<int>(taken);
    }
    static const char* reason_of(int error) {
        switch (error) {
            case D_GIF_ERR_READ_FAILED:
            case D_GIF_ERR_EOF_TOO_SOON: return "the file ends before the image does";
            default: break;
        }
        const char* reason = GifErrorString(error);
        return reason != nullptr ? reason : "the data are damaged";
    }

    const ImageFile& file_;
    std::span<const std::byte> left_;
    GifFileType* gif_ = nullptr;
};

// Reads on to the first frame; returns the index that is transparent in it, or −1.
int find_frame(Reader& reader, const ImageFile& file) {
    GifFileType& gif = reader.gif();
    int transparent = NO_TRANSPARENT_COLOR;
    while (true) {
        GifRecordType type = UNDEFINED_RECORD_TYPE;
        reader.must(DGifGetRecordType(&gif, &type));
        if (type == IMAGE_DESC_RECORD_TYPE) return transparent;
        if (type != EXTENSION_RECORD_TYPE) file.reject(kind, "no frame in the file");
        int code = 0;
        GifByteType* block = nullptr;
        reader.must(DGifGetExtension(&gif, &code, &block));
        while (block != nullptr) {
            GraphicsControlBlock control{};
            if (code == GRAPHICS_EXT_FUNC_CODE && DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
                transparent = control.TransparentColor;
            reader.must(DGifGetExtensionNext(&gif, &block));
        }
    }
}

// In which order an interlaced frame's rows come.
std::vector<std::int64_t> row_order(std::int64_t height, bool interlaced) {
    std::vector<std::int64_t> order;
    order.reserve(static_cast<std::size_t>(height));
    struct Pass {
        int first, step;
    };
    constexpr Pass passes[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
    for (const auto& [first, step] : passes)
        for (std::int64_t y = first; interlaced && y < height; y += step) order.push_back(y);
    for (std::int64_t y = 0; !interlaced && y < height; ++y) order.push_back(y);
    return order;
}

// Without a colour map an index is a grey.
std::vector<std::uint8_t> palette_of(const GifFileType& gif, int transparent) {
    const ColorMapObject* map = gif.Image.ColorMap != nullptr ? gif.Image.ColorMap : gif.SColorMap;
    std::vector<std::uint8_t> palette(256 * 4, 0);
    for (int i = 0; i < 256; ++i) {
        std::uint8_t* entry = palette.data() + i * 4;
        if (map == nullptr) std::memset(entry, i, 3);
        if (map != nullptr && i < map->ColorCount) {
            entry[0] = map->Colors[i].Red;
            entry[1] = map->Colors[i].Green;
            entry[2] = map->Colors[i].Blue;
        }
        entry[3] = i == transparent ? 0 : 255;
    }
    return palette;
}

}  // namespace

TransparentImage decode_gif(const ImageFile& file) {
    Reader reader(file);
    GifFileType& gif = reader.gif();
    const int transparent = find_frame(reader, file);
    reader.must(DGifGetImageDesc(&gif));
    const GifImageDesc& frame = gif.Image;
    // A frame may reach past its screen, which then is as large as it must be.
    const std::int64_t width = std::max<std::int64_t>(gif.SWidth, std::int64_t{frame.Left} + frame.Width);
    const std::int64_t height = std::max<std::int64_t>(gif.SHeight, std::int64_t{frame.Top} + frame.Height);
    file.check_size(kind, width, height);
    if (frame.Width <= 0 || frame.Height <= 0) file.reject(kind, "the first frame is empty");
    // A code is of two bits at least and stands for 4096 pixels at most.
    constexpr std::int64_t most_per_byte = 8 / 2 * 4096;
    if (std::int64_t{frame.Width} * frame.Height / most_per_byte > static_cast<std::int64_t>(file.bytes.size()))
        file.reject(kind, "the file ends before the image does");

    // What the frame leaves free is transparent, or of the first colour where none is.
    const auto ground = static_cast<std::uint8_t>(transparent >= 0 ? transparent : 0);
    std::vector<std::uint8_t> indices(static_cast<std::size_t>(width * height), ground);
    for (const std::int64_t y : row_order(frame.Height, frame.Interlace))
        reader.must(DGifGetLine(&gif, indices.data() + (frame.Top + y) * width + frame.Left, frame.Width));
    const std::vector<std::uint8_t> palette = palette_of(gif, transparent);
    TransparentImage image(width, height);
    for (std::size_t i = 0; i < indices.size(); ++i) std::memcpy(&image.pixels[i * 4], &palette[indices[i] * 4u], 4);
    return image;
}

}  // namespace tessera::formats
