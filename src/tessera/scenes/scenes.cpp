#include "tessera/scenes/scenes.h"

#include "tessera/scenes/background.h"
#include "tessera/scenes/scene_composer.h"

namespace tessera::scenes {
namespace {

SceneSettings settings_of(const std::filesystem::path& file) {
    return read_scene_settings(formats::Config(formats::Json::read(file), file.string()));
}

formats::Image background_of(const SceneComposition& composition, std::int64_t size) {
    std::vector<Colour> colours;
    for (const PlacedThing& thing : composition.things) colours.push_back(thing.colour);
    formats::Image image(size, size);
    paint(image, draw_background(colours, size, composition.background));
    return image;
}

Scene texts_of(SceneComposition composition) {
    Scene scene{.task = composition.task, .objects = composition.objects()};
    scene.prefix = std::move(composition.question.prefix);
    scene.suffix = std::move(composition.question.suffix);
    for (const SceneObject& object : scene.objects)
        if (object.kind == SceneObject::Kind::Text) scene.text = object.name;
    return scene;
}

}  // namespace

Scenes::Scenes(const std::filesystem::path& file) : Scenes(settings_of(file)) {}
Scenes::Scenes(SceneSettings settings) : composer_(std::make_unique<SceneComposer>(std::move(settings))) {}
Scenes::~Scenes() = default;
Scenes::Scenes(Scenes&&) noexcept = default;

const SceneSettings& Scenes::settings() const { return composer_->settings(); }
std::string Scenes::where(std::int64_t index) const { return composer_->where(index); }

Scene Scenes::texts_at(std::int64_t index) const { return texts_of(composer_->compose(index)); }

formats::Image Scenes::background_at(std::int64_t index) const {
    return background_of(composer_->compose(index), settings().size);
}

Scene Scenes::at(std::int64_t index) const {
    SceneComposition composition = composer_->compose(index);
    formats::Image image = background_of(composition, settings().size);
    for (const PlacedThing& thing : composition.things)
        lay(image, thing.shown(), thing.object.box.left, thing.object.box.top, thing.mirrored);
    Scene scene = texts_of(std::move(composition));
    scene.image = std::move(image);
    return scene;
}

}  // namespace tessera::scenes
