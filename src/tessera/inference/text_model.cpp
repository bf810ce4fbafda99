#include "tessera/inference/text_model.h"

#include <algorithm>

#include "tessera/formats/find_file.h"
#include "tessera/inference/generator.h"
#include "tessera/models/adapters/adapters.h"
#include "tessera/models/catalog.h"
#include "tessera/nn/module.h"

namespace tessera::inference {
namespace {

namespace fs = std::filesystem;

// A file of weights alone has its tokenizer beside it: one of the usual names, or the only file that can be meant.
fs::path tokenizer_beside(const fs::path& file) {
    const fs::path folder = formats::folder_of(file);
    for (const char* name : {"tokenizer.json", "tokenizer.model", "tokenizer.bin"})
        if (fs::path found = formats::find_file(folder, name); !found.empty()) return found;
    std::vector<fs::path> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        const std::string name = entry.path().filename().string();
        const bool is_other = entry.path().filename() != file.filename();
        if (is_other && name.starts_with("tok") && name.ends_with(".bin"))
            found.push_back(formats::find_file(folder, name));
    }
    return found.size() == 1 ? found.front() : fs::path();
}

std::shared_ptr<const tokenizers::Tokenizer> find_tokenizer(const fs::path& model, const fs::path& given,
                                                            NeedsTokenizer needs) {
    if (!given.empty()) return tokenizers::open_tokenizer(given);
    if (needs == NeedsTokenizer::No) return nullptr;
    const bool is_bare = fs::is_regular_file(model) && model.extension() == ".bin";
    const fs::path place = is_bare ? tokenizer_beside(model) : model;
    check(!place.empty(), model.string(),
          ": no tokenizer lies beside it (tokenizer.bin, or one tok*.bin): name it with --tokenizer");
    return tokenizers::open_tokenizer(place);
}

}  // namespace

const tokenizers::Tokenizer& TextModel::text() const {
    check(tokenizer != nullptr, path.string(), ": there is no tokenizer");
    return *tokenizer;
}

std::int64_t TextModel::vocabulary() const {
    for (const char* field : {"vocab_size", "vocabulary_size", "target_vocabulary_size"})
        for (const models::Config& section : {config, config.section_or_empty("text_config")})
            if (section.has(field)) return section.positive(field);
    return tokenizer ? tokenizer->size() : 0;
}

TextModel open_text_model(const fs::path& folder_or_file, const fs::path& tokenizer, Device device,
                          NeedsTokenizer needs, const fs::path& adapter) {
    if (models::is_adapter_folder(folder_or_file)) {
        check(adapter.empty(), folder_or_file.string(), ": holds adapters; --adapter needs the base they stand beside");
        const bool brings_tokenizer =
            needs == NeedsTokenizer::Yes && tokenizer.empty() && !tokenizers::tokenizer_files(folder_or_file).empty();
        return open_text_model(models::base_of_adapters(folder_or_file), brings_tokenizer ? folder_or_file : tokenizer,
                               device, needs, folder_or_file);
    }
    check(adapter.empty() || models::is_adapter_folder(adapter), adapter.string(),
          ": no folder of adapters: it has no adapter_config.json");
    const formats::Checkpoint checkpoint = models::open(folder_or_file);
    TextModel out{.path = folder_or_file, .config = checkpoint.config, .device = device};
    out.settings = read_generation_settings(checkpoint.generation_config, checkpoint.config);
    out.tokenizer = find_tokenizer(folder_or_file, tokenizer, needs);
    out.model = adapter.empty() ? models::load(checkpoint) : models::load_adapted(checkpoint, adapter);
    out.config = out.model->config;
    if (device != cpu) nn::move_to(*out.model, device);
    return out;
}

std::vector<std::int64_t> ids_of(const TextModel& model, const Prompt& prompt) {
    if (!prompt.ids.empty()) return prompt.ids;
    std::vector<std::int64_t> ids = model.text().encode(prompt.text, !prompt.is_whole);
    if (!ids.empty()) return ids;
    const std::optional<std::int64_t> first = model.text().special.bos ? model.text().special.bos : model.settings.bos;
    check(first.has_value(), "the prompt is empty, and ", model.path.string(), " names no token to begin a text with");
    return {*first};
}

models::Batch batch_for(const TextModel& model, const std::vector<Prompt>& prompts) {
    std::vector<std::vector<std::int64_t>> ids;
    for (const Prompt& prompt : prompts) ids.push_back(ids_of(model, prompt));
    const bool has_encoder = model.model->has_encoder();
    models::Batch batch = batch_of(ids, model.settings.padding.value_or(0), has_encoder ? Side::Right : Side::Left);
    batch.input_ids = batch.input_ids.to(model.device);
    batch.attention_mask = batch.attention_mask.to(model.device);
    if (has_encoder && model.settings.decoder_start)
        batch.decoder_input_ids = Tensor::full({static_cast<std::int64_t>(ids.size()), 1},
                                               static_cast<double>(*model.settings.decoder_start), DType::I64)
                                      .to(model.device);
    return batch;
}

}  // namespace tessera::inference
