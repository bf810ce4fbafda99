#include "tessera/scenes/font_list.h"

namespace tessera::scenes {
namespace {

struct KnownFont {
    const char *list, *file, *package;
};

constexpr KnownFont fonts[] = {
    {"train", "DejaVuSans.ttf", "fonts-dejavu-core"},
    {"train", "DejaVuSans-Bold.ttf", "fonts-dejavu-core"},
    {"train", "DejaVuSansMono.ttf", "fonts-dejavu-core"},
    {"train", "DejaVuSansMono-Bold.ttf", "fonts-dejavu-core"},
    {"train", "DejaVuSerif.ttf", "fonts-dejavu-core"},
    {"train", "DejaVuSerif-Bold.ttf", "fonts-dejavu-core"},
    {"train", "LiberationSans-Regular.ttf", "fonts-liberation"},
    {"train", "LiberationSans-Bold.ttf", "fonts-liberation"},
    {"train", "LiberationSans-Italic.ttf", "fonts-liberation"},
    {"train", "LiberationSerif-Regular.ttf", "fonts-liberation"},
    {"train", "LiberationSerif-Bold.ttf", "fonts-liberation"},
    {"train", "LiberationMono-Regular.ttf", "fonts-liberation"},
    {"train", "LiberationSansNarrow-Bold.ttf", "fonts-liberation"},
    {"train", "FreeSans.ttf", "fonts-freefont-ttf"},
    {"train", "FreeSansBold.ttf", "fonts-freefont-ttf"},
    {"train", "FreeSerifBold.ttf", "fonts-freefont-ttf"},
    {"train", "FreeMonoBold.ttf", "fonts-freefont-ttf"},
    {"held-out", "Cantarell-Regular.otf", "fonts-cantarell"},
    {"held-out", "Cantarell-Bold.otf", "fonts-cantarell"},
    {"held-out", "Inconsolata.otf", "fonts-inconsolata"},
    {"held-out", "Quicksand-Bold.ttf", "fonts-quicksand"},
    {"held-out", "LiberationSerif-Italic.ttf", "fonts-liberation"},
};

}  // namespace

std::vector<std::string> font_list(const std::string& name) {
    std::vector<std::string> files;
    for (const KnownFont& font : fonts)
        if (name == font.list) files.emplace_back(font.file);
    return files;
}

std::string font_package(const std::string& file) {
    for (const KnownFont& font : fonts)
        if (file == font.file) return font.package;
    return {};
}

}  // namespace tessera::scenes
