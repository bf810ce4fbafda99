// A model with everything that belongs to it: tokenizer and chat template, generation settings, image processor,
// classes, adapters. Opened from a folder of the Hub's layout, a .gguf, a .bin of llama2.c, or a folder of adapters;
// and saved again.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/formats/checkpoint.h"
#include "tessera/formats/image/image_processor_config.h"
#include "tessera/models/adapters/adapters.h"
#include "tessera/models/generation_settings.h"
#include "tessera/models/model.h"
#include "tessera/models/sidecar_files.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::models {

struct OpenedModel {
    std::filesystem::path path = {};  // as it was named when it was opened
    Config config = {};
    std::unique_ptr<Model> model = {};
    std::shared_ptr<const tokenizers::Tokenizer> tokenizer = {};  // null where there is none, or none was wanted
    GenerationSettings settings = {};
    std::optional<formats::ImageProcessorConfig> image_processor = {};  // none: it looks at no images
    std::vector<std::string> labels = {};                               // the classes it chooses between
    SidecarFiles sidecar_files = {};
    std::filesystem::path base = {};           // what its adapters stand beside; empty without adapters
    std::filesystem::path adapter = {};        // the folder its adapters were opened from; empty where they are new
    std::optional<AdapterSettings> lora = {};  // what new ones were made with
    Device device = cpu;

    const tokenizers::Tokenizer& text() const;                       // throws where there is no tokenizer
    const formats::ImageProcessorConfig& images() const;             // throws where it looks at no images
    std::int64_t vocabulary() const { return model->vocabulary(); }  // 0: it knows no tokens

    // The weights, or while it has adapters these alone; and the sidecar files.
    void save(const std::filesystem::path& folder, const formats::WriteOptions& options = {}) const;
    // Throws where something that goes with the weights could not be written, and keeps it in the folder from now on:
    // whatever becomes of the files that it is from, the model can be saved.
    void keep_sidecar_files(const std::filesystem::path& folder);
};

enum class NeedsTokenizer {
    No,       // none is opened
    IfThere,  // the model's, where it has one
    Yes,      // an error where it has none
};

struct OpenOptions {
    std::filesystem::path tokenizer = {};  // a file or folder to take it from; empty: where the model has it
    std::filesystem::path adapter = {};    // a folder of adapters to put over the model
    Device device = cpu;
    NeedsTokenizer needs_tokenizer = NeedsTokenizer::IfThere;
    std::optional<Capability> capability = {};  // that the model must have; asked before its tokenizer is opened
};

OpenedModel open_model(const std::filesystem::path& folder_or_file, const OpenOptions& options = {});
// What the model's configuration tells of it, for a model that was put together otherwise: config, classes, and how its
// images are prepared as the sidecar files or else the family say.
void describe(OpenedModel& opened);

}  // namespace tessera::models
