#include "tessera/models/opened_model.h"

#include "tessera/core/error.h"
#include "tessera/models/catalog.h"
#include "tessera/models/new_head.h"
#include "tessera/models/vision/vision.h"
#include "tessera/nn/module.h"
#include "tessera/tokenizers/tokenizer_file.h"

namespace tessera::models {
namespace {

namespace fs = std::filesystem;

void open_tokenizer(OpenedModel& opened, const ModelPlace& place, const OpenOptions& options) {
    if (options.tokenizer.empty() && options.needs_tokenizer == NeedsTokenizer::No) return;
    const fs::path from = options.tokenizer.empty() ? tokenizer_place(place) : options.tokenizer;
    if (!from.empty()) {
        opened.tokenizer = tokenizers::open_tokenizer(from);
        opened.sidecar_files.tokenizer = from;
    } else if (options.needs_tokenizer == NeedsTokenizer::Yes) {
        if (fs::is_directory(place.weights)) tokenizers::open_tokenizer(place.weights);  // says what it looked for
        throw tokenizers::NoTokenizer(
            text_of(place.weights.string(), ": no tokenizer is inside, and none lies beside it"));
    }
}

}  // namespace

const tokenizers::Tokenizer& OpenedModel::text() const {
    if (!tokenizer) throw tokenizers::NoTokenizer(text_of(path.string(), ": there is no tokenizer"));
    return *tokenizer;
}

const formats::ImageProcessorConfig& OpenedModel::images() const {
    check(image_processor.has_value(), path.string(), ": a model of type ", config.text("model_type"),
          " looks at no images");
    return *image_processor;
}

void OpenedModel::save(const fs::path& folder, const formats::WriteOptions& options) const {
    if (has_adapters(*model))
        save_adapters(*model, lora ? *lora : read_adapter_settings(adapter), base.string(), folder);
    else
        models::save(*model, folder, options);
    sidecar_files.write_to(folder);
}

void OpenedModel::keep_sidecar_files(const fs::path& folder) {
    model->config.json().dump();  // all of it is UTF-8
    model->generation_config.dump();
    formats::Json(base.string()).dump();
    sidecar_files.keep_in(folder);
}

void describe(OpenedModel& opened) {
    opened.config = opened.model->config;
    opened.labels = class_names(opened.config);
    opened.image_processor.reset();
    const Vision* vision = architecture_of(opened.config).vision;
    if (!vision) return;
    const std::vector<fs::path>& files = opened.sidecar_files.images;
    opened.image_processor = files.empty() ? vision->images(opened.config)
                                           : image_processor_config(files.front().parent_path(), opened.config);
}

OpenedModel open_model(const fs::path& folder_or_file, const OpenOptions& options) {
    const ModelPlace place = model_place(folder_or_file, options.adapter);
    const formats::Checkpoint checkpoint = open(place.weights);
    OpenedModel opened{.path = folder_or_file, .sidecar_files = sidecar_files(place), .device = options.device};
    opened.settings = read_generation_settings(checkpoint.generation_config, checkpoint.config);
    if (place.adapter.empty()) {
        opened.model = load(checkpoint);
    } else {
        opened.base = fs::absolute(place.weights).lexically_normal();
        opened.adapter = place.adapter;
        opened.model = load_adapted(checkpoint, place.adapter);
    }
    if (options.capability) opened.model->require(*options.capability, folder_or_file.string());
    open_tokenizer(opened, place, options);
    describe(opened);
    if (opened.device != cpu) nn::move_to(*opened.model, opened.device);
    return opened;
}

}  // namespace tessera::models
