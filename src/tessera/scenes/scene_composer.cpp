#include "tessera/scenes/scene_composer.h"

#include <algorithm>
#include <numeric>

#include "tessera/core/error.h"
#include "tessera/scenes/layout.h"

namespace tessera::scenes {
namespace {

using Kind = SceneObject::Kind;

constexpr const char* system_fonts = "/usr/share/fonts";
constexpr std::uint64_t attempts = 200;  // a few are needed at most

// Which of the sizes (scene_sides) things have, by how many there are of them.
struct SizeRange {
    std::int64_t first, count;
};
constexpr SizeRange size_ranges[] = {{3, 6}, {3, 6}, {2, 5}, {1, 5}, {0, 5}, {0, 4}};

}  // namespace

std::vector<SceneObject> SceneComposition::objects() const {
    std::vector<SceneObject> list;
    for (const PlacedThing& thing : things) list.push_back(thing.object);
    return list;
}

SceneComposer::SceneComposer(SceneSettings settings)
    : settings_(std::move(settings)),
      subjects_(load_subjects(settings_)),
      fonts_(settings_.fonts, {std::filesystem::path(settings_.parts) / "fonts", system_fonts}, settings_.source) {
    for (std::size_t shape = 0; shape < shape_names.size(); ++shape) {
        shapes_.emplace_back();
        for (const std::int64_t side : scene_sides(settings_.size))
            shapes_.back().push_back(shape_mask(static_cast<SceneShape>(shape), side));
    }
}

std::string SceneComposer::where(std::int64_t index) const { return text_of(settings_.source, ": scene ", index); }

SceneTask SceneComposer::draw_task(data::RandomSequence draws) const {
    const auto& weights = settings_.weights;
    std::int64_t place = draws.below(std::accumulate(weights.begin(), weights.end(), std::int64_t{0}));
    std::size_t task = 0;
    while (place >= weights[task]) place -= weights[task++];
    return static_cast<SceneTask>(task);
}

// How a thing looks at one of the sizes.
PlacedThing SceneComposer::draw_look(const SceneThing& thing, std::size_t size, data::RandomSequence& draws) const {
    PlacedThing placed;
    if (thing.kind == Kind::Shape) {
        placed.colour = varied(shape_colours[thing.colour].colour, draws);
        placed.own = coloured(shapes_[static_cast<std::size_t>(thing.shape)][size], placed.colour);
        return placed;
    }
    const auto pick = [&](const auto& list) -> const auto& {
        return list[static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(list.size())))];
    };
    const SceneImage& image = pick(pick(subjects_[thing.subject].styles));
    placed.colour = image.mean;
    placed.sprite = &image.sizes[size];
    placed.mirrored = draws.below(2) == 0;
    return placed;
}

PlacedThing SceneComposer::draw_writing(const SceneThing& thing, data::RandomSequence& draws) const {
    const std::int64_t font = draws.below(fonts_.size());
    const std::int64_t height = settings_.size * (15 + draws.below(18)) / 100, widest = settings_.size * 92 / 100;
    Mask mask = fonts_.line(font, thing.text, height);
    if (mask.width > widest) mask = fonts_.line(font, thing.text, height * widest / (mask.width + 1));
    PlacedThing placed;
    placed.colour = varied(shape_colours[draws.below(std::size(shape_colours))].colour, draws);
    placed.own = coloured(mask, placed.colour);
    return placed;
}

// The things of a plan for which there is room; each is tried at smaller sizes before it is left out.
std::vector<PlacedThing> SceneComposer::place(const ScenePlan& plan, data::RandomSequence& draws) const {
    std::vector<PlacedThing> things;
    std::vector<data::Detection::Box> taken;
    const SizeRange range = size_ranges[std::min(plan.things.size(), std::size(size_ranges) - 1)];
    for (const SceneThing& thing : plan.things) {
        for (std::int64_t size = range.first + draws.below(range.count); size >= 0; --size) {
            PlacedThing placed = thing.kind == Kind::Text ? draw_writing(thing, draws)
                                                          : draw_look(thing, static_cast<std::size_t>(size), draws);
            const auto box = draw_place(placed.shown().width, placed.shown().height, taken, settings_.size, draws);
            if (!box) continue;
            placed.object = {thing.kind, name_of(thing, settings_), group_of(thing, settings_), *box};
            things.push_back(std::move(placed));
            taken.push_back(*box);
            break;
        }
    }
    return things;
}

std::optional<SceneQuestion> SceneComposer::ask(const ScenePlan& plan, SceneTask task,
                                                std::span<const SceneObject> objects,
                                                data::RandomSequence& draws) const {
    if (objects.size() < plan.things.size()) return std::nullopt;
    switch (task) {
        case SceneTask::Caption: return ask_caption(objects, settings_.size);
        case SceneTask::Count: return ask_count(objects, plan.asked.front());
        case SceneTask::Where: return ask_where(objects, settings_.size, draws);
        case SceneTask::Detect: return ask_detect(objects, plan.asked, settings_.size);
        case SceneTask::DetectAll: return ask_detect_all(objects, settings_.size);
        case SceneTask::Ocr: break;
    }
    return ask_ocr(objects);
}

SceneComposition SceneComposer::compose(std::int64_t index) const {
    check(index >= 0 && index < settings_.images, settings_.source, ": no scene ", index, "; there are ",
          settings_.images);
    const RandomKey key = RandomKey{settings_.seed, 0}.child(static_cast<std::uint64_t>(index));
    SceneComposition scene{.task = draw_task(data::RandomSequence(key.child(0)))};
    for (std::uint64_t attempt = 0; attempt < attempts; ++attempt) {
        const RandomKey own = key.child(1 + attempt);
        data::RandomSequence draws(own.child(0));
        const ScenePlan plan = draw_plan(scene.task, settings_, draws);
        scene.things = place(plan, draws);
        scene.background = own.child(1);
        if (auto question = ask(plan, scene.task, scene.objects(), draws)) {
            scene.question = std::move(*question);
            return scene;
        }
    }
    fail(where(index), ": these objects and tasks leave nothing clear to ask");
}

}  // namespace tessera::scenes
