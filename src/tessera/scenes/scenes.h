// A set of images that makes itself: scenes of emoji, clip art, shapes and texts on varied backgrounds, each with a
// question and its exact answer. A scene is a pure function of the set's file and its number: any order, any number of
// threads and any machine give the same bits.
#pragma once

#include <filesystem>
#include <memory>

#include "tessera/formats/image/image.h"
#include "tessera/scenes/questions.h"
#include "tessera/scenes/scene_settings.h"

namespace tessera::scenes {

class SceneComposer;

struct Scene {
    formats::Image image = {};  // empty where only texts were asked for
    std::string prefix = {}, suffix = {};
    SceneTask task = SceneTask::Caption;
    std::vector<SceneObject> objects = {};  // all that is to be seen, in the order it was put there
    std::string text = {};                  // what is written there; empty: nothing
};

class Scenes {
   public:
    explicit Scenes(const std::filesystem::path& file);
    explicit Scenes(SceneSettings settings);
    ~Scenes();
    Scenes(Scenes&&) noexcept;

    const SceneSettings& settings() const;
    std::int64_t size() const { return settings().images; }
    Scene at(std::int64_t index) const;
    Scene texts_at(std::int64_t index) const;                // the same without its image
    formats::Image background_at(std::int64_t index) const;  // the image without its objects
    std::string where(std::int64_t index) const;             // "FILE: scene N"

   private:
    std::unique_ptr<const SceneComposer> composer_;
};

}  // namespace tessera::scenes
