#include "tessera/formats/image/image_processor_config.h"

#include <algorithm>

#include "tessera/core/error.h"

namespace tessera::formats {
namespace {

constexpr std::int64_t longest_edge = 4096;

std::int64_t read_edge(const Config& config, std::string_view name) {
    const std::int64_t edge = config.positive(name);
    if (edge > longest_edge) config.reject(name, text_of(edge, " is more than ", longest_edge));
    return edge;
}

// 224, [224, 224], {"height": 224, "width": 224} or {"shortest_edge": 224}.
ImageSize read_size(const Config& config, const char* name, const ImageSize& fallback, bool square) {
    if (!config.has(name)) return fallback;
    const Json& value = *config.json().find(name);
    if (value.is_number()) {
        const std::int64_t edge = read_edge(config, name);
        return square ? ImageSize{.height = edge, .width = edge} : ImageSize{.shortest_edge = edge};
    }
    if (value.is_array()) {
        const std::vector<std::int64_t> edges = config.integers(name);
        if (edges.size() != 2 || *std::min_element(edges.begin(), edges.end()) < 1 ||
            *std::max_element(edges.begin(), edges.end()) > longest_edge)
            config.reject(name, text_of("expected [height, width] of 1 to ", longest_edge, ", found ", value));
        return {.height = edges[0], .width = edges[1]};
    }
    const Config section = config.section(name);
    if (section.has("height") && section.has("width"))
        return {.height = read_edge(section, "height"), .width = read_edge(section, "width")};
    if (section.has("shortest_edge") && !section.has("longest_edge"))
        return {.shortest_edge = read_edge(section, "shortest_edge")};
    config.reject(name, "expected height and width, or shortest_edge");
}

using Channels = std::array<double, 3>;

Channels read_channels(const Config& config, const char* name, const Channels& fallback, bool grey) {
    if (!config.has(name)) return fallback;
    if (config.json().find(name)->is_number()) {
        const double value = config.number(name);
        return {value, value, value};
    }
    const std::vector<double> values = config.numbers(name);
    if (values.size() == 1 && grey) return {values[0], values[0], values[0]};
    if (values.size() != 3) config.reject(name, text_of("expected 3 numbers, found ", values.size()));
    return {values[0], values[1], values[2]};
}

Json written_size(const ImageSize& size) {
    if (size.shortest_edge > 0) return Json::object().set("shortest_edge", size.shortest_edge);
    return Json::object().set("height", size.height).set("width", size.width);
}

Json written_channels(const Channels& channels, bool grey) {
    Json values = Json::array();
    for (std::size_t c = 0; c < (grey ? 1 : channels.size()); ++c) values.push_back(channels[c]);
    return values;
}

// A step that we do not know, yet is asked for, would change the pixels.
void reject_other_steps(const Config& config) {
    constexpr std::string_view known[] = {"do_resize",    "do_center_crop", "do_rescale",
                                          "do_normalize", "do_convert_rgb", "do_convert_annotations"};
    for (const auto& [name, value] : config.json().members())
        if (name.starts_with("do_") && value.is_boolean() && value.as_boolean() &&
            std::find(std::begin(known), std::end(known), name) == std::end(known))
            config.reject(name, "this step is not known");
}

}  // namespace

ImageProcessorConfig read_image_processor_config(const Config& config, const ImageProcessorConfig& defaults) {
    reject_other_steps(config);
    ImageProcessorConfig settings = defaults;
    settings.resizes = config.boolean("do_resize", defaults.resizes);
    settings.size = read_size(config, "size", defaults.size, defaults.one_number_is_square);
    settings.crops = config.boolean("do_center_crop", defaults.crops);
    settings.crop = read_size(config, "crop_size", defaults.crop, true);
    if (settings.crops && settings.crop.height == 0) config.reject("crop_size", "expected height and width");
    settings.rescales = config.boolean("do_rescale", defaults.rescales);
    settings.scale = config.number("rescale_factor", defaults.scale);
    settings.normalises = config.boolean("do_normalize", defaults.normalises);
    settings.mean = read_channels(config, "image_mean", defaults.mean, defaults.grey);
    settings.deviation = read_channels(config, "image_std", defaults.deviation, defaults.grey);
    if (settings.normalises && std::count(settings.deviation.begin(), settings.deviation.end(), 0.0) > 0)
        config.reject("image_std", "0 divides nothing");
    const std::int64_t resampling = config.integer("resample", static_cast<std::int64_t>(defaults.resampling));
    if (resampling < 0 || resampling > static_cast<std::int64_t>(Resampling::Hamming))
        config.reject("resample", text_of(resampling,
                                          " is no filter; 0 is nearest, 1 lanczos, 2 bilinear, 3 bicubic, "
                                          "4 box, 5 hamming"));
    settings.resampling = static_cast<Resampling>(resampling);
    return settings;
}

Json written(const ImageProcessorConfig& settings) {
    Json json = Json::object();
    json.set("do_resize", settings.resizes)
        .set("size", written_size(settings.size))
        .set("resample", static_cast<std::int64_t>(settings.resampling))
        .set("do_rescale", settings.rescales)
        .set("rescale_factor", settings.scale)
        .set("do_normalize", settings.normalises)
        .set("image_mean", written_channels(settings.mean, settings.grey))
        .set("image_std", written_channels(settings.deviation, settings.grey));
    if (settings.crops) json.set("do_center_crop", true).set("crop_size", written_size(settings.crop));
    return json;
}

}  // namespace tessera::formats
