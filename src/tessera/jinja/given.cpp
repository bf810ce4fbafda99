#include "tessera/jinja/given.h"

#include <algorithm>

#include "tessera/core/error.h"
#include "tessera/jinja/brief.h"

namespace tessera::jinja {

BoundArguments::BoundArguments(const Arguments& arguments, std::string_view function,
                               std::initializer_list<std::string_view> names, std::size_t required)
    : function_(function), names_(names), values_(names.size(), nullptr) {
    check(arguments.positional.size() <= names.size(), function, "() takes at most ", names.size(), " arguments, ",
          arguments.positional.size(), " are given");
    for (std::size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = &arguments.positional[i];
    for (const auto& [name, value] : arguments.named) {
        const auto found = std::find(names_.begin(), names_.end(), name);
        check(found != names_.end(), function, "() got an unexpected keyword argument '", brief(name), "'");
        const Value*& place = values_[static_cast<std::size_t>(found - names_.begin())];
        check(place == nullptr, function, "() got multiple values for argument '", brief(name), "'");
        place = &value;
    }
    for (std::size_t i = 0; i < required; ++i)
        check(values_[i] != nullptr, function, "() lacks its argument '", names_[i], "'");
}

std::int64_t BoundArguments::whole(std::size_t i, std::int64_t fallback) const {
    if (!values_[i]) return fallback;
    check_defined(*values_[i]);
    check(values_[i]->is_whole(), function_, "(): ", names_[i], ": expected an integer, found ",
          values_[i]->type_name());
    return values_[i]->whole();
}

std::string_view BoundArguments::text(std::size_t i, std::string_view fallback) const {
    if (!values_[i]) return fallback;
    check_defined(*values_[i]);
    check(values_[i]->is_text(), function_, "(): ", names_[i], ": expected a text, found ", values_[i]->type_name());
    return values_[i]->text();
}

}  // namespace tessera::jinja
