#include "tessera/scenes/fonts.h"

#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_ADVANCES_H

#include <algorithm>
#include <memory>

#include "tessera/core/error.h"
#include "tessera/scenes/font_list.h"

namespace tessera::scenes {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t fine = 96;  // pixels of the letters that all sizes are scaled from
constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

fs::path find_font(const std::string& name, const std::vector<fs::path>& folders, const std::string& source) {
    for (const fs::path& folder : folders) {
        fs::path found;  // the first by name, where two packages have such a file
        std::error_code error;
        fs::recursive_directory_iterator walk(folder, fs::directory_options::skip_permission_denied, error);
        for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error))
            if (walk->path().filename() == name && (found.empty() || walk->path() < found)) found = walk->path();
        if (!found.empty()) return found;
    }
    const std::string package = font_package(name);
    fail(source, ": fonts: no file ", name, " in ", folders.back().string(),
         package.empty() ? "" : "; it comes with the Debian package ", package);
}

struct Library {
    FT_Library library = nullptr;
    FT_Face face = nullptr;

    explicit Library(const std::string& file) : file_(file) {
        must(FT_Init_FreeType(&library));
        try {
            must(FT_New_Face(library, file.c_str(), 0, &face));
            must(FT_Set_Pixel_Sizes(face, 0, fine));
        } catch (...) {
            FT_Done_FreeType(library);
            throw;
        }
    }
    ~Library() { FT_Done_FreeType(library); }  // and all faces with it
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    void must(FT_Error error) const { check(error == 0, file_, ": not a font that can be read (error ", error, ")"); }

   private:
    std::string file_;
};

Mask mask_of(const FT_Bitmap& bitmap) {
    Mask mask{bitmap.width, bitmap.rows, std::vector<std::uint8_t>(std::size_t{bitmap.width} * bitmap.rows)};
    for (unsigned y = 0; y < bitmap.rows; ++y) {
        const unsigned char* row = bitmap.buffer + std::ptrdiff_t{bitmap.pitch} * y;
        for (unsigned x = 0; x < bitmap.width; ++x)
            if ((row[x / 8] >> (7 - x % 8) & 1) != 0) mask.cover[std::size_t{y} * bitmap.width + x] = 255;
    }
    return mask;
}

}  // namespace

SceneFonts::SceneFonts(const std::vector<std::string>& files, const std::vector<fs::path>& folders,
                       const std::string& source) {
    for (const std::string& file : files) fonts_.push_back(read(find_font(file, folders, source)));
}

SceneFonts::Font SceneFonts::read(const fs::path& file) {
    const Library open(file.string());
    const FT_Face face = open.face;
    check(face->units_per_EM > 0, file.string(), ": the font has no outlines");
    Font font;
    for (const char letter : letters) {
        const FT_UInt glyph = FT_Get_Char_Index(face, static_cast<FT_ULong>(letter));
        check(glyph != 0, file.string(), ": the font has no letter ", std::string(1, letter));
        FT_Fixed units = 0;
        open.must(FT_Get_Advance(face, glyph, FT_LOAD_NO_SCALE, &units));
        open.must(FT_Load_Glyph(face, glyph, FT_LOAD_NO_HINTING | FT_LOAD_RENDER | FT_LOAD_TARGET_MONO));
        const FT_GlyphSlot slot = face->glyph;
        check(slot->bitmap.pixel_mode == FT_PIXEL_MODE_MONO && slot->bitmap.pitch >= 0, file.string(), ": the letter ",
              std::string(1, letter), " has no outline");
        const std::int64_t em = face->units_per_EM;
        font[letter] = {mask_of(slot->bitmap), slot->bitmap_left, slot->bitmap_top, (units * fine + em / 2) / em};
    }
    return font;
}

Mask SceneFonts::line(std::int64_t font, std::string_view text, std::int64_t height) const {
    const Font& own = fonts_.at(static_cast<std::size_t>(font));
    std::int64_t pen = 0, left = 0, right = 1, top = 1, bottom = 0;
    for (const char c : text) {
        const Letter& letter = own.at(c);
        left = std::min(left, pen + letter.left), right = std::max(right, pen + letter.left + letter.mask.width);
        top = std::max(top, letter.top), bottom = std::min(bottom, letter.top - letter.mask.height);
        pen += letter.advance;
    }
    Mask line{right - left, top - bottom, {}};
    line.cover.resize(static_cast<std::size_t>(line.width * line.height));
    pen = -left;
    for (const char c : text) {
        const Letter& letter = own.at(c);
        for (std::int64_t y = 0; y < letter.mask.height; ++y)
            for (std::int64_t x = 0; x < letter.mask.width; ++x) {
                std::uint8_t& cover =
                    line.cover[static_cast<std::size_t>((top - letter.top + y) * line.width + pen + letter.left + x)];
                cover = std::max(cover, letter.mask.cover[static_cast<std::size_t>(y * letter.mask.width + x)]);
            }
        pen += letter.advance;
    }
    const auto share = [&](std::int64_t length) {
        return std::max<std::int64_t>(1, (length * height + fine / 2) / fine);
    };
    return scaled(line, share(line.width), share(line.height));
}

}  // namespace tessera::scenes
