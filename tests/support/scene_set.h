// A scene set of a test's own: a file, and parts that the test draws.
#pragma once

#include <string>

#include "support/temporary_folder.h"
#include "tessera/scenes/scenes.h"

namespace tessera::testing {

class SceneSet {
   public:
    SceneSet() {
        draw("dog", 20, 12, {120, 80, 40});
        draw("cup", 12, 20, {40, 160, 200});
        draw("key", 16, 16, {230, 200, 60});
        folder.write("parts/emoji/plain.jsonl", R"({"image": "plain/dog.png", "text": "Dog"}
{"image": "plain/cup.png", "text": "hot beverage"}
{"image": "plain/key.png", "text": "key"}
)");
    }

    // `more`: members of the set's object.
    std::filesystem::path file(const std::string& more, const std::string& name = "set.scenes.json") const {
        const std::string parts = "\"pictures\": 400, \"parts\": \"" + (folder / "parts").string() + "\"";
        return folder.write(name, "{" + parts + (more.empty() ? "" : ", ") + more + "}");
    }
    scenes::Scenes open(const std::string& more) const { return scenes::Scenes(file(more)); }

    TemporaryFolder folder;

   private:
    // A frame of one colour around another.
    void draw(const std::string& name, std::int64_t width, std::int64_t height, std::array<std::uint8_t, 3> colour) {
        formats::Image image(width, height);
        for (std::int64_t y = 0; y < height; ++y)
            for (std::int64_t x = 0; x < width; ++x) {
                const bool edge = x < 2 || y < 2 || x >= width - 2 || y >= height - 2;
                for (std::size_t c = 0; c < 3; ++c)
                    image.row(y)[x * 3 + static_cast<std::int64_t>(c)] = edge ? std::uint8_t{10} : colour[c];
            }
        std::filesystem::create_directories(folder / "parts/emoji/plain");
        formats::write_png(folder / ("parts/emoji/plain/" + name + ".png"), image);
    }
};

// Objects of three kinds, shapes, and texts in a font that every machine with this program has.
inline const std::string everything =
    R"("seed": 5, "styles": ["plain"], "objects": ["dog", "cup", "key"], "fonts": ["DejaVuSans.ttf"])";
// What needs no file beside the set.
inline const std::string shapes_only =
    R"("seed": 5, "fonts": [], "tasks": {"caption": 1, "count": 1, "where": 1, "detect": 1})";

}  // namespace tessera::testing
