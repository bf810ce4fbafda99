#include "tessera/scenes/plan.h"

#include <algorithm>
#include <cctype>

#include "tessera/core/error.h"

namespace tessera::scenes {
namespace {

using Kind = SceneObject::Kind;

constexpr std::size_t longest_word = 8;

std::string digits(std::int64_t count, data::RandomSequence& draws) {
    std::string text;
    for (std::int64_t i = 0; i < count; ++i)
        text += static_cast<char>(i == 0 && count > 1 ? '1' + draws.below(9) : '0' + draws.below(10));
    return text;
}

// One of the words for what scenes show, in capitals, small letters or with a capital first.
std::string word(const SceneSettings& settings, data::RandomSequence& draws) {
    std::vector<std::string> words;
    for (const std::string& name : settings.objects)
        if (name.size() <= longest_word && name.find_first_of(" -") == name.npos) words.push_back(name);
    for (const NamedColour& colour : shape_colours) words.emplace_back(colour.name);
    for (const char* shape : shape_names) words.emplace_back(shape);
    std::string text = words[static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(words.size())))];
    const std::int64_t capitals = draws.below(3);
    for (std::size_t i = 0; i < text.size(); ++i)
        if (capitals == 0 || (capitals == 1 && i == 0))
            text[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[i])));
    return text;
}

std::string capitals(data::RandomSequence& draws) {
    std::string text;
    for (std::int64_t left = 2 + draws.below(5); left > 0; --left) text += static_cast<char>('A' + draws.below(26));
    return text;
}

// To be read: anything; in a caption: what is short, a number or a word.
SceneThing draw_text(bool is_short, const SceneSettings& settings, data::RandomSequence& draws) {
    const std::int64_t kind = draws.below(is_short ? 2 : 3);
    const std::int64_t count = 1 + draws.below(is_short ? 2 : 5);
    return {.kind = Kind::Text,
            .text = kind == 0   ? digits(count, draws)
                    : kind == 1 ? word(settings, draws)
                                : capitals(draws)};
}

SceneThing draw_thing(const SceneSettings& settings, data::RandomSequence& draws) {
    const auto subjects = static_cast<std::int64_t>(settings.objects.size());
    const bool is_shape = settings.shapes && (subjects == 0 || draws.below(3) == 0);
    if (!is_shape) return {.kind = Kind::Object, .subject = static_cast<std::size_t>(draws.below(subjects))};
    const auto shape = static_cast<SceneShape>(draws.below(shape_names.size()));
    return {
        .kind = Kind::Shape, .shape = shape, .colour = static_cast<std::size_t>(draws.below(std::size(shape_colours)))};
}

// One that is not there yet; where all are there, one that is.
SceneThing draw_other(const std::vector<SceneThing>& things, const SceneSettings& settings,
                      data::RandomSequence& draws) {
    SceneThing thing = draw_thing(settings, draws);
    for (int i = 0; i < 20 && std::find(things.begin(), things.end(), thing) != things.end(); ++i)
        thing = draw_thing(settings, draws);
    return thing;
}

// `count` things; in one image of four, some are of one name.
std::vector<SceneThing> draw_things(std::int64_t count, bool may_repeat, const SceneSettings& settings,
                                    data::RandomSequence& draws) {
    const bool repeats = may_repeat && draws.below(4) == 0;
    std::vector<SceneThing> things;
    for (std::int64_t i = 0; i < count; ++i)
        things.push_back(repeats && i > 0 && draws.below(2) == 0 ? things[0] : draw_other(things, settings, draws));
    return things;
}

// The answer is drawn first, so that all are equally frequent; then others, one at least where the answer is none.
ScenePlan plan_count(const SceneSettings& settings, data::RandomSequence& draws) {
    const SceneThing counted = draw_thing(settings, draws);
    const std::int64_t count = std::min(draws.below(most_scene_things), settings.most);
    ScenePlan plan{.things = std::vector<SceneThing>(static_cast<std::size_t>(count), counted)};
    std::vector<SceneThing> known{counted};
    const std::int64_t others =
        std::min(settings.most - count, std::max<std::int64_t>(draws.below(3), count == 0 ? 1 : 0));
    for (std::int64_t i = 0; i < others; ++i) plan.things.push_back(draw_other(known, settings, draws));
    const bool by_group = draws.below(3) == 0;
    plan.asked.push_back(by_group ? group_of(counted, settings) : name_of(counted, settings));
    return plan;
}

ScenePlan plan_caption(const SceneSettings& settings, data::RandomSequence& draws) {
    constexpr std::int64_t counts[] = {1, 1, 1, 2, 2, 2, 2, 3, 3, 4};
    ScenePlan plan{
        .things = draw_things(std::min(counts[draws.below(std::size(counts))], settings.most), true, settings, draws)};
    if (!settings.fonts.empty() && draws.below(6) == 0) plan.things.front() = draw_text(true, settings, draws);
    return plan;
}

// One name in half of the images: to look a thing up by its name is learned from one name among several things, and
// hardly at all where most questions name all there is, which can be answered without reading them.
ScenePlan plan_detect(const SceneSettings& settings, data::RandomSequence& draws) {
    ScenePlan plan{.things = draw_things(std::min(1 + draws.below(4), settings.most), true, settings, draws)};
    for (const SceneThing& thing : plan.things) {
        const std::string name = name_of(thing, settings);
        if (std::find(plan.asked.begin(), plan.asked.end(), name) == plan.asked.end()) plan.asked.push_back(name);
    }
    draws.shuffle(plan.asked);
    const auto most_asked = draws.below(2) == 0 ? 1 : static_cast<std::int64_t>(plan.asked.size());
    plan.asked.resize(static_cast<std::size_t>(1 + draws.below(most_asked)));
    return plan;
}

}  // namespace

ScenePlan draw_plan(SceneTask task, const SceneSettings& settings, data::RandomSequence& draws) {
    switch (task) {
        case SceneTask::Caption: return plan_caption(settings, draws);
        case SceneTask::Count: return plan_count(settings, draws);
        case SceneTask::Where:
            return {.things = draw_things(std::min(2 + draws.below(2), settings.most), false, settings, draws)};
        case SceneTask::Detect: return plan_detect(settings, draws);
        case SceneTask::DetectAll:
            return {.things = draw_things(std::min(1 + draws.below(most_scene_things), settings.most), true, settings,
                                          draws)};
        case SceneTask::Ocr: break;
    }
    ScenePlan plan{.things = {draw_text(false, settings, draws)}};
    const std::int64_t others = std::min(draws.below(3), settings.most - 1);
    for (std::int64_t i = 0; i < others; ++i) plan.things.push_back(draw_other(plan.things, settings, draws));
    return plan;
}

std::string name_of(const SceneThing& thing, const SceneSettings& settings) {
    if (thing.kind == Kind::Text) return thing.text;
    if (thing.kind == Kind::Object) return settings.objects[thing.subject];
    return text_of(shape_colours[thing.colour].name, " ", group_of(thing, settings));
}

std::string group_of(const SceneThing& thing, const SceneSettings& settings) {
    if (thing.kind == Kind::Shape) return shape_names[static_cast<std::size_t>(thing.shape)];
    return name_of(thing, settings);
}

}  // namespace tessera::scenes
