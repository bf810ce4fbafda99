// The plan of a scene, before anything has a place: names drawn so that a task's answers are spread evenly.
#pragma once

#include <string>
#include <vector>

#include "tessera/data/random_sequence.h"
#include "tessera/scenes/questions.h"
#include "tessera/scenes/scene_settings.h"
#include "tessera/scenes/shapes.h"

namespace tessera::scenes {

struct SceneThing {
    SceneObject::Kind kind = SceneObject::Kind::Object;
    std::size_t subject = 0;  // of the settings' objects
    SceneShape shape = SceneShape::Circle;
    std::size_t colour = 0;  // of shape_colours
    std::string text = {};

    bool operator==(const SceneThing&) const = default;
};

struct ScenePlan {
    std::vector<SceneThing> things = {};
    std::vector<std::string> asked = {};  // what the question names, where it is not drawn from the finished scene
};

ScenePlan draw_plan(SceneTask task, const SceneSettings& settings, data::RandomSequence& draws);

std::string name_of(const SceneThing& thing, const SceneSettings& settings);
std::string group_of(const SceneThing& thing, const SceneSettings& settings);

}  // namespace tessera::scenes
