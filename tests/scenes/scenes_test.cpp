// Scenes: the same bits however they are made, things where their boxes say, answers that the image bears out.
#include "tessera/scenes/scenes.h"

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "support/scene_set.h"
#include "tessera/core/parallel.h"
#include "tessera/scenes/scene_words.h"
#include "tessera/training/objectives/image_examples.h"

namespace tessera::scenes {
namespace {

using testing::everything;
using testing::expect_error;
using testing::SceneSet;
using testing::shapes_only;

constexpr std::int64_t looked_at = 300;

bool same(const Scene& a, const Scene& b) {
    return a.image == b.image && a.prefix == b.prefix && a.suffix == b.suffix && a.task == b.task && a.text == b.text &&
           a.objects.size() == b.objects.size();
}

std::vector<Scene> made(const Scenes& scenes, std::int64_t count) {
    std::vector<Scene> list(static_cast<std::size_t>(count));
    parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) list[static_cast<std::size_t>(i)] = scenes.at(i);
    });
    return list;
}

TEST(Scenes, AnyOrderAndAnyNumberOfThreadsGiveTheSameBits) {
    const SceneSet set;
    const Scenes scenes = set.open(everything), again = set.open(everything);
    const int threads = thread_count();
    set_thread_count(3);
    const std::vector<Scene> side_by_side = made(scenes, 60);
    set_thread_count(threads);
    for (std::int64_t i = 59; i >= 0; --i) {
        const Scene &one = side_by_side[static_cast<std::size_t>(i)], other = again.at(i);
        EXPECT_TRUE(same(one, other)) << i;
        EXPECT_EQ(one.image.width, 112);
        EXPECT_EQ(again.texts_at(i).suffix, one.suffix);
        EXPECT_TRUE(again.texts_at(i).image.pixels.empty());
    }
    EXPECT_FALSE(side_by_side[0].image == side_by_side[1].image);
    EXPECT_FALSE(same(set.open(everything + R"(, "size": 64)").at(0), side_by_side[0]));
}

// Shapes hang on no file and no library: these bits are those of every machine.
TEST(Scenes, EveryMachineMakesTheseBits) {
    const SceneSet set;
    const Scenes scenes = set.open(shapes_only);
    std::uint64_t hash = 14695981039346656037u;  // FNV-1a
    const auto add = [&](const auto& bytes) {
        for (const auto byte : bytes) hash = (hash ^ static_cast<std::uint8_t>(byte)) * 1099511628211u;
    };
    for (std::int64_t i = 0; i < 40; ++i) {
        const Scene scene = scenes.at(i);
        add(scene.image.pixels);
        add(scene.prefix + scene.suffix);
    }
    EXPECT_EQ(hash, 7559692378125239164u);
}

TEST(Scenes, ThingsLieInTheirBoxesAndReachTheirEdges) {
    const SceneSet set;
    const Scenes scenes = set.open(everything);
    for (std::int64_t i = 0; i < looked_at; ++i) {
        const Scene scene = scenes.at(i);
        const formats::Image ground = scenes.background_at(i);
        const auto differs = [&](std::int64_t x, std::int64_t y) {
            return !std::equal(ground.row(y) + x * 3, ground.row(y) + x * 3 + 3, scene.image.row(y) + x * 3);
        };
        std::vector<data::Detection::Box> reached(scene.objects.size(), {112, 112, 0, 0});
        for (std::int64_t y = 0; y < 112; ++y)
            for (std::int64_t x = 0; x < 112; ++x) {
                if (!differs(x, y)) continue;
                int boxes = 0;
                for (std::size_t j = 0; j < scene.objects.size(); ++j) {
                    const data::Detection::Box& box = scene.objects[j].box;
                    if (x < box.left || x >= box.right || y < box.top || y >= box.bottom) continue;
                    ++boxes;
                    data::Detection::Box& seen = reached[j];
                    seen = {std::min(seen.left, x), std::min(seen.top, y), std::max(seen.right, x + 1),
                            std::max(seen.bottom, y + 1)};
                }
                ASSERT_EQ(boxes, 1) << "scene " << i << " at " << x << ", " << y;
            }
        for (std::size_t j = 0; j < scene.objects.size(); ++j) {
            const data::Detection::Box &box = scene.objects[j].box, seen = reached[j];
            EXPECT_EQ(std::tie(box.left, box.top, box.right, box.bottom),
                      std::tie(seen.left, seen.top, seen.right, seen.bottom))
                << "scene " << i << ": " << scene.objects[j].name;
        }
    }
}

std::int64_t named(const Scene& scene, const std::string& name) {
    return std::count_if(scene.objects.begin(), scene.objects.end(),
                         [&](const SceneObject& object) { return object.name == name; });
}

const SceneObject& the(const Scene& scene, const std::string& name) {
    static const SceneObject none;
    EXPECT_EQ(named(scene, name), 1) << scene.prefix << " " << name;
    for (const SceneObject& object : scene.objects)
        if (object.name == name) return object;
    return none;
}

double middle_x(const SceneObject& object) { return static_cast<double>(object.box.left + object.box.right) / 2; }
double middle_y(const SceneObject& object) { return static_cast<double>(object.box.top + object.box.bottom) / 2; }

void check_count(const Scene& scene) {
    std::smatch words;
    ASSERT_TRUE(std::regex_match(scene.prefix, words, std::regex("answer en how many (.*)s are there\\?")));
    std::int64_t count = 0;
    for (const SceneObject& object : scene.objects) {
        const std::string& name = object.name;
        count += name == words[1] || name.substr(name.rfind(' ') + 1) == words[1];
    }
    EXPECT_EQ(scene.suffix, std::to_string(count));
}

void check_where(const Scene& scene) {
    std::smatch words;
    ASSERT_TRUE(std::regex_match(scene.prefix, words,
                                 std::regex("answer en what is (left of|right of|above|below) the (.*)\\?")));
    const auto stands = [&](const SceneObject& object) {
        const SceneObject& asked = the(scene, words[2]);
        const double x = middle_x(object) - middle_x(asked), y = middle_y(object) - middle_y(asked);
        if (words[1] == "left of") return -x > std::abs(y);
        if (words[1] == "right of") return x > std::abs(y);
        return words[1] == "above" ? -y > std::abs(x) : y > std::abs(x);
    };
    for (const SceneObject& object : scene.objects)
        EXPECT_EQ(stands(object), object.name == scene.suffix) << scene.prefix << " " << scene.suffix;
}

bool lies_in(const SceneObject& object, const data::Detection::Box& box) {
    return object.box.left == box.left && object.box.top == box.top && object.box.right == box.right &&
           object.box.bottom == box.bottom;
}

void check_detect(const Scene& scene) {
    ASSERT_TRUE(scene.prefix.starts_with("detect "));
    std::vector<data::Detection> expected;
    std::string names = scene.prefix.substr(7) + " ; ";
    for (std::size_t end = names.find(" ; "); end != names.npos; end = names.find(" ; ")) {
        const std::string name = names.substr(0, end);
        EXPECT_GE(named(scene, name), 1) << scene.prefix;
        for (const SceneObject& object : scene.objects)
            if (object.name == name) expected.push_back({.label = name});
        names = names.substr(end + 3);
    }
    const std::vector<data::Detection> found = data::read_detections(scene.suffix);
    ASSERT_EQ(found.size(), expected.size()) << scene.suffix;
    for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].label, expected[i].label);
        const data::Detection::Box box = found[i].box(112, 112);
        EXPECT_EQ(std::count_if(
                      scene.objects.begin(), scene.objects.end(),
                      [&](const SceneObject& object) { return object.name == found[i].label && lies_in(object, box); }),
                  1)
            << scene.suffix;
        if (i > 0 && found[i].label == found[i - 1].label) {
            EXPECT_LE(found[i - 1].box(112, 112).left + found[i - 1].box(112, 112).right, box.left + box.right);
        }
    }
}

void check_detect_all(const Scene& scene) {
    EXPECT_EQ(scene.prefix, "detect all");
    const std::vector<data::Detection> found = data::read_detections(scene.suffix);
    ASSERT_EQ(found.size(), scene.objects.size()) << scene.suffix;
    std::set<const SceneObject*> known;
    std::int64_t last = 0;
    for (const data::Detection& detection : found) {
        const data::Detection::Box box = detection.box(112, 112);
        for (const SceneObject& object : scene.objects)
            if (object.name == detection.label && lies_in(object, box)) known.insert(&object);
        EXPECT_LE(last, box.left + box.right) << scene.suffix;
        last = box.left + box.right;
    }
    EXPECT_EQ(known.size(), found.size()) << scene.suffix;
}

// Names in the order of the words, one for each thing.
void check_caption(const Scene& scene) {
    EXPECT_EQ(scene.prefix, "caption en");
    std::smatch words;
    if (std::regex_match(scene.suffix, words,
                         std::regex("(?:an?|the \\w+) (.*) (left of|above) (?:an?|the \\w+) (.*)"))) {
        ASSERT_EQ(scene.objects.size(), 2u);
        const SceneObject &first = the(scene, words[1]), &second = the(scene, words[3]);
        const double across = middle_x(second) - middle_x(first), down = middle_y(second) - middle_y(first);
        EXPECT_TRUE(words[2] == "above" ? down > std::abs(across) : across > std::abs(down)) << scene.suffix;
        return;
    }
    static const std::map<std::string, std::int64_t> numbers = {{"a", 1},   {"an", 1},    {"the", 1},
                                                                {"two", 2}, {"three", 3}, {"four", 4}};
    std::int64_t things = 0;
    double last = 0;
    const std::regex phrase("(an?|the (?:word|number)|two|three|four) (.*?)(, | and |$)");
    for (auto each = std::sregex_iterator(scene.suffix.begin(), scene.suffix.end(), phrase);
         each != std::sregex_iterator(); ++each) {
        const std::string number = (*each)[1].str(), name = (*each)[2];
        const std::int64_t count = numbers.at(number.substr(0, number.find(' ')));
        double leftmost = 1000;
        std::int64_t there = 0;
        for (const SceneObject& object : scene.objects) {
            if ((count == 1 ? object.name : plural_of(object.name)) != name) continue;
            ++there;
            leftmost = std::min(leftmost, middle_x(object));
        }
        EXPECT_EQ(there, count) << scene.suffix;
        EXPECT_GT(leftmost, last) << scene.suffix;
        last = leftmost;
        things += count;
    }
    EXPECT_EQ(things, static_cast<std::int64_t>(scene.objects.size())) << scene.suffix;
}

TEST(Scenes, AnswersAreWhatTheImageShows) {
    const SceneSet set;
    const Scenes scenes = set.open(everything);
    std::map<SceneTask, int> tasks;
    for (std::int64_t i = 0; i < looked_at; ++i) {
        const Scene scene = scenes.at(i);
        ++tasks[scene.task];
        ASSERT_FALSE(scene.objects.empty());
        switch (scene.task) {
            case SceneTask::Caption: check_caption(scene); break;
            case SceneTask::Count: check_count(scene); break;
            case SceneTask::Where: check_where(scene); break;
            case SceneTask::Detect: check_detect(scene); break;
            case SceneTask::DetectAll: check_detect_all(scene); break;
            case SceneTask::Ocr:
                EXPECT_EQ(scene.prefix, "ocr");
                EXPECT_EQ(scene.suffix, scene.text);
                EXPECT_EQ(
                    std::count_if(scene.objects.begin(), scene.objects.end(),
                                  [](const SceneObject& object) { return object.kind == SceneObject::Kind::Text; }),
                    1);
                EXPECT_GE(named(scene, scene.text), 1);
        }
    }
    for (const auto& [task, count] : tasks) EXPECT_GT(count, 30);
    EXPECT_EQ(tasks.size(), scene_tasks);
}

TEST(Scenes, CountsAndTextsAreSpread) {
    const SceneSet set;
    std::map<std::string, int> counts;
    const Scenes counting = set.open(everything + R"(, "tasks": {"count": 1})");
    for (std::int64_t i = 0; i < 200; ++i) ++counts[counting.texts_at(i).suffix];
    for (const char* count : {"0", "1", "2", "3", "4"}) EXPECT_GT(counts[count], 20) << count;
    const Scenes reading = set.open(everything + R"(, "tasks": {"ocr": 3, "detect": 0})");
    int numbers = 0, capitals = 0, words = 0;
    for (std::int64_t i = 0; i < 200; ++i) {
        const Scene scene = reading.texts_at(i);
        EXPECT_EQ(scene.task, SceneTask::Ocr);
        numbers += std::regex_match(scene.text, std::regex("\\d{1,5}"));
        capitals += std::regex_match(scene.text, std::regex("[A-Z]{2,8}"));
        words += std::regex_match(scene.text, std::regex("[A-Z]?[a-z]{2,8}"));
    }
    EXPECT_EQ(numbers + capitals + words, 200);
    for (const int count : {numbers, capitals, words}) EXPECT_GT(count, 25);
}

TEST(Scenes, OneThingAmongOthersIsAskedForOften) {
    const SceneSet set;
    const Scenes scenes = set.open(everything + R"(, "tasks": {"detect": 1})");
    int one_of_several = 0, several = 0;
    for (std::int64_t i = 0; i < 200; ++i) {
        const Scene scene = scenes.at(i);
        const bool names_several = scene.prefix.find(';') != scene.prefix.npos;
        several += names_several;
        one_of_several += !names_several && data::read_detections(scene.suffix).size() < scene.objects.size();
    }
    EXPECT_GT(one_of_several, 60);
    EXPECT_GT(several, 40);
}

TEST(Scenes, EachSettingChangesWhatItSays) {
    const SceneSet set;
    const Scenes plain = set.open(everything + R"(, "shapes": false, "tasks": {"detect": 1})");
    for (std::int64_t i = 0; i < 30; ++i)
        for (const SceneObject& object : plain.at(i).objects) EXPECT_EQ(object.kind, SceneObject::Kind::Object);
    const Scenes shapes = set.open(shapes_only);
    for (std::int64_t i = 0; i < 30; ++i)
        for (const SceneObject& object : shapes.at(i).objects) EXPECT_EQ(object.kind, SceneObject::Kind::Shape);
    const std::string reading = R"("seed": 5, "tasks": {"ocr": 1}, "fonts": )";
    EXPECT_FALSE(set.open(reading + R"(["DejaVuSans.ttf"])").at(3).image ==
                 set.open(reading + R"(["DejaVuSerif.ttf"])").at(3).image);
    EXPECT_FALSE(same(set.open(R"("seed": 6, "fonts": [], "tasks": {"detect": 1})").at(0),
                      set.open(R"("seed": 7, "fonts": [], "tasks": {"detect": 1})").at(0)));
    for (const std::int64_t size : {32, 448}) {
        const Scenes scenes = set.open(everything + ", \"size\": " + std::to_string(size));
        for (std::int64_t i = 0; i < 20; ++i) EXPECT_EQ(scenes.at(i).image.height, size);
    }
}

TEST(Scenes, NoMoreThingsThanTheSetAllows) {
    const SceneSet set;
    for (const std::int64_t most : {1, 2, 3}) {
        const std::string tasks = most > 1 ? "" : R"(, "tasks": {"caption": 1, "count": 1, "detect": 1, "ocr": 1})";
        const Scenes scenes = set.open(everything + text_of(", \"most\": ", most) + tasks);
        std::size_t largest = 0;
        for (std::int64_t i = 0; i < 100; ++i) largest = std::max(largest, scenes.texts_at(i).objects.size());
        EXPECT_EQ(largest, static_cast<std::size_t>(most));
    }
    // One name alone is enough for some tasks.
    const Scenes dogs = set.open(
        R"("styles": ["plain"], "objects": ["dog"], "shapes": false, "fonts": [], "tasks": {"caption": 1, "detect": 1})");
    for (std::int64_t i = 0; i < 50; ++i) EXPECT_NE(dogs.at(i).suffix.find("dog"), std::string::npos);
}

// What a model is tested on in the end, it has never seen.
TEST(Scenes, HeldOutStylesAndFontsAreInNoOtherSet) {
    const auto read = [](const std::filesystem::path& file) {
        return read_scene_settings(formats::Config(formats::Json::read(file), file.string()));
    };
    const std::filesystem::path folder = testing::source_path("recipes/scenes");
    const SceneSettings held_out = read(folder / "held-out.scenes.json");
    std::set<std::uint64_t> seeds;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const SceneSettings settings = read(entry.path());
        EXPECT_TRUE(seeds.insert(settings.seed).second) << entry.path();
        if (entry.path().filename() == "held-out.scenes.json") continue;
        for (const std::string& style : settings.styles) EXPECT_NE(style, held_out.styles.at(0)) << entry.path();
        for (const std::string& font : settings.fonts)
            EXPECT_EQ(std::count(held_out.fonts.begin(), held_out.fonts.end(), font), 0) << entry.path();
    }
    EXPECT_GE(seeds.size(), 3u);
}

TEST(Scenes, TheirPartsAreFoundBesideThem) {
    const testing::TemporaryFolder folder;
    std::filesystem::create_directories(folder / "all/data");
    const auto parts_of = [&](const char* parts) {
        const std::string json = text_of(
            R"({"pictures": 1, "styles": [], "fonts": [], "tasks": {"caption": 1}, "parts": ")", parts, R"("})");
        return read_scene_settings({formats::Json::parse(json, "set"), folder / "all/sets/set.scenes.json"}).parts;
    };
    std::filesystem::create_directories(folder / "all/sets");
    EXPECT_TRUE(std::filesystem::equivalent(parts_of("../data"), folder / "all/data"));
    EXPECT_EQ(parts_of("elsewhere"), "elsewhere");  // from the working directory
}

TEST(Scenes, BadFilesAreNamedWithTheirField) {
    const SceneSet set;
    const auto refuse = [&](const std::string& more, std::initializer_list<std::string> parts) {
        expect_error([&] { set.open(more); }, parts);
    };
    refuse(R"("sise": 112)", {"set.scenes.json", "sise", "size"});
    refuse(R"("size": 31)", {"set.scenes.json: size", "31", "32"});
    refuse(R"("size": 1000000000)", {"size", "448"});
    refuse(R"("size": "big")", {"size"});
    refuse(R"("seed": -1)", {"seed", "-1"});
    refuse(R"("tasks": {"dance": 1})", {"tasks.dance", "caption"});
    refuse(R"("tasks": {"ocr": -1})", {"tasks.ocr", "-1"});
    refuse(R"("tasks": {"ocr": 0})", {"tasks"});
    refuse(R"("tasks": {"ocr": 1}, "fonts": [])", {"fonts", "ocr"});
    refuse(R"("fonts": "best")", {"fonts", "held-out", "best"});
    refuse(R"("fonts": ["nowhere.ttf"])", {"fonts", "nowhere.ttf"});
    refuse(R"("fonts": ["../x.ttf"])", {"fonts", "../x.ttf"});
    refuse(R"("styles": ["oil"], "objects": ["dog"])", {"styles", "oil.jsonl", "fetch_data emoji"});
    refuse(R"("styles": ["plain", "plain"])", {"styles", "twice"});
    refuse(R"("styles": ["../plain"])", {"styles", "../plain"});
    refuse(R"("styles": ["plain"], "objects": ["dragon"])", {"objects", "dragon"});
    refuse(R"("styles": ["plain"], "objects": ["Dog; cup"])", {"objects", "Dog; cup"});
    refuse(R"("styles": ["plain"], "objects": ["red circle"])", {"objects", "red circle"});
    refuse(R"("styles": ["plain"], "objects": ["all"])", {"objects", "'all'"});
    refuse(R"("objects": ["dog"])", {"objects", "styles"});
    refuse(R"("most": 0)", {"most", "0"});
    refuse(R"("most": 1)", {"most", "where"});
    refuse(R"("shapes": false)", {"styles", "nothing to show"});
    refuse(R"("shapes": false, "styles": ["plain"], "objects": ["dog"])", {"objects", "two"});
    expect_error([&] { Scenes{set.folder.write("x.scenes.json", "{}")}; }, {"x.scenes.json", "pictures"});
    expect_error([&] { Scenes{set.folder.write("x.scenes.json", "[1]")}; }, {"x.scenes.json"});
    expect_error([&] { Scenes{set.folder.write("x.scenes.json", "{\"pictures\"")}; }, {"x.scenes.json"});
    expect_error([&] { Scenes{set.folder / "none.scenes.json"}; }, {"none.scenes.json"});
    const Scenes scenes = set.open(shapes_only);
    expect_error([&] { scenes.at(400); }, {"no scene 400", "400"});
    expect_error([&] { scenes.at(-1); }, {"no scene -1"});
    set.folder.write("parts/fonts/broken.ttf", "not a font");
    refuse(R"("fonts": ["broken.ttf"])", {"broken.ttf", "not a font"});
    set.folder.write("parts/emoji/plain/key.png", "not an image");
    refuse(R"("styles": ["plain"], "objects": ["key", "dog"])", {"key.png"});
}

TEST(Scenes, WordsAreEnglish) {
    EXPECT_EQ(plural_of("dog"), "dogs");
    EXPECT_EQ(plural_of("bus"), "buses");
    EXPECT_EQ(plural_of("red box"), "red boxes");
    EXPECT_EQ(plural_of("fish"), "fish");
    EXPECT_EQ(plural_of("cherry"), "cherries");
    EXPECT_EQ(plural_of("key"), "keys");
    EXPECT_EQ(with_article("apple"), "an apple");
    EXPECT_EQ(with_article("orange circle"), "an orange circle");
    EXPECT_EQ(with_article("unicorn"), "a unicorn");
    EXPECT_GE(default_objects().size(), 24u);
}

TEST(ImageExamples, LinesAndScenesAreOneSet) {
    const SceneSet set;
    const Scenes scenes = set.open(shapes_only);
    formats::write_png(set.folder / "one.png", scenes.at(7).image);
    set.folder.write("lines.jsonl", R"({"image": "one.png", "prefix": "say", "suffix": "seven"})");
    const auto examples =
        training::open_image_examples({(set.folder / "lines.jsonl").string(), set.file(shapes_only).string()});
    ASSERT_EQ(examples->size(), 401);
    EXPECT_EQ(examples->at(0).suffix, "seven");
    EXPECT_EQ(examples->at(0).image, scenes.at(7).image);
    EXPECT_EQ(examples->at(8).image, scenes.at(7).image);
    EXPECT_EQ(examples->at(8).prefix, scenes.at(7).prefix);
    EXPECT_NE(examples->where(0).find("lines.jsonl: line 1"), std::string::npos);
    EXPECT_NE(examples->where(8).find("scene 7"), std::string::npos);
    expect_error([] { training::open_image_examples({}); }, {"no images"});
}

}  // namespace
}  // namespace tessera::scenes
