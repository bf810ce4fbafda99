#include "tessera/models/model.h"

#include "tessera/core/error.h"

namespace tessera::models {

std::string Model::cannot(Capability wanted) const {
    const std::string type = config.text("model_type", "model");
    const bool is_vowel = !type.empty() && std::string_view("aeiou").find(type.front()) != std::string_view::npos;
    return text_of(is_vowel ? "an " : "a ", type, " ", text_of_all(capabilities), "; it does not ",
                   infinitive_of(wanted));
}

void Model::require(Capability wanted, const std::string& source) const {
    check(can(wanted), source, ": ", cannot(wanted));
}

std::unique_ptr<DecodingSession> Model::decode(std::int64_t) const {
    fail(config.source(), ": ", cannot(Capability::Generate));
}

}  // namespace tessera::models
