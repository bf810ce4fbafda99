// Every architecture this program knows, by the model_type of config.json.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tessera/core/error.h"
#include "tessera/formats/checkpoint.h"
#include "tessera/models/architecture.h"

namespace tessera::models {

// What was named is no model.
class UnknownModel : public Error {
   public:
    explicit UnknownModel(const std::string& name)
        : Error(text_of(name, ": neither a folder, a config.json nor a preset")), name(name) {}
    const std::string name;
};

// A folder of the Hub's layout, a GGUF file or a file of llama2.c, as one kind of checkpoint.
formats::Checkpoint open(const std::filesystem::path& folder_or_file);
// The configuration of any of these, a config.json, or a preset (configs/) by name.
Config config_named(const std::string& folder_file_or_preset);

std::vector<const Architecture*> catalog();                 // by name
const Architecture& architecture_of(const Config& config);  // throws naming the model_type and those that are known

// A model without memory: its shapes only.
std::unique_ptr<Model> build(const Config& config);
// A model with random weights of this dtype, as training from scratch begins; the same for the same seed.
std::unique_ptr<Model> initialised(const Config& config, std::uint64_t seed, DType dtype = DType::F32,
                                   const std::function<void(const Tensor& parameter)>& on_parameter = {});
// A model over the checkpoint's tensors; they stay where they are mapped unless the family's layout differs from ours.
std::unique_ptr<Model> load(const formats::Checkpoint& checkpoint);
// Of a folder of adapters, its base under them.
std::unique_ptr<Model> load(const std::filesystem::path& folder_or_file);
// Config and weights under the checkpoint's names, as the reference would have written them.
void save(Model& model, const std::filesystem::path& folder, formats::WriteOptions options = {});

}  // namespace tessera::models
