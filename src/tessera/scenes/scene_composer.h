// From a scene's number to what stands where in it and what is asked: everything but the pixels.
#pragma once

#include "tessera/scenes/artwork.h"
#include "tessera/scenes/fonts.h"
#include "tessera/scenes/plan.h"

namespace tessera::scenes {

struct PlacedThing {
    SceneObject object = {};
    const Sprite* sprite = nullptr;  // one of the set's, or
    Sprite own = {};                 // the scene's own
    Colour colour = {};              // that the background should keep away from
    bool mirrored = false;

    const Sprite& shown() const { return sprite ? *sprite : own; }
};

struct SceneComposition {
    SceneTask task = SceneTask::Caption;
    std::vector<PlacedThing> things = {};
    SceneQuestion question = {};
    RandomKey background = {};

    std::vector<SceneObject> objects() const;
};

class SceneComposer {
   public:
    explicit SceneComposer(SceneSettings settings);

    const SceneSettings& settings() const { return settings_; }
    SceneComposition compose(std::int64_t index) const;
    std::string where(std::int64_t index) const;  // "FILE: scene N"

   private:
    SceneTask draw_task(data::RandomSequence draws) const;
    PlacedThing draw_look(const SceneThing& thing, std::size_t size, data::RandomSequence& draws) const;
    PlacedThing draw_writing(const SceneThing& thing, data::RandomSequence& draws) const;
    std::vector<PlacedThing> place(const ScenePlan& plan, data::RandomSequence& draws) const;
    std::optional<SceneQuestion> ask(const ScenePlan& plan, SceneTask task, std::span<const SceneObject> objects,
                                     data::RandomSequence& draws) const;

    SceneSettings settings_;
    std::vector<SceneSubject> subjects_;
    std::vector<std::vector<Mask>> shapes_;  // by shape and size
    SceneFonts fonts_;
};

}  // namespace tessera::scenes
