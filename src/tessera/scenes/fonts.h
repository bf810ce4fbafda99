// Texts drawn in the machine's fonts. Each letter's outline is drawn once, large and in black and white; texts are put
// together from these by the widths in the font's own units, and scaled by whole numbers, so that what comes out does
// not hang on how a version of the font library hints or smooths.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/scenes/sprites.h"

namespace tessera::scenes {

class SceneFonts {
   public:
    // Files by their names, looked for in these folders and the folders in them; `source` is what errors name.
    SceneFonts(const std::vector<std::string>& files, const std::vector<std::filesystem::path>& folders,
               const std::string& source);

    std::int64_t size() const { return static_cast<std::int64_t>(fonts_.size()); }
    // One line of letters and digits; `height` is that of the whole font, in pixels.
    Mask line(std::int64_t font, std::string_view text, std::int64_t height) const;

   private:
    struct Letter {
        Mask mask = {};
        std::int64_t left = 0, top = 0, advance = 0;  // the mask's place from the pen, upwards from the base line
    };
    using Font = std::map<char, Letter>;
    static Font read(const std::filesystem::path& file);

    std::vector<Font> fonts_;
};

}  // namespace tessera::scenes
