// Fields of a model's configuration, replaced by name from the command line: model.hidden_size=64.
#pragma once

#include <optional>
#include <string>

#include "tessera/formats/json.h"

namespace tessera::training {

// What a recipe's model is called by, as the configuration itself; a checkpoint with weights is refused, because its
// sizes are what they are. Errors begin with `source`.
formats::Json configuration_named(const std::string& model, const std::string& source);

// The object with the field that a dotted name leads to replaced, by a value of the same kind: `value`, or `given` as a
// text where it is no JSON. Only fields that are there: what a model's configuration may say is not listed anywhere,
// and a misspelt name would change nothing in silence.
formats::Json with_field(const formats::Json& object, const std::string& name,
                         const std::optional<formats::Json>& value, const std::string& given,
                         const std::string& source);

}  // namespace tessera::training
