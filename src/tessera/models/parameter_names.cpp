#include "tessera/models/parameter_names.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "tessera/models/adapters/stored_module.h"

namespace tessera::models {
namespace {

std::vector<std::string> parts_of(const std::string& name) {
    std::vector<std::string> parts;
    std::istringstream text(name);
    for (std::string part; std::getline(text, part, '.');) parts.push_back(part);
    return parts;
}

bool is_number(const std::string& part) { return !part.empty() && part.find_first_not_of("0123456789") == part.npos; }

Shape as_stored(Shape shape, bool transposed) {
    if (transposed && shape.rank() == 2) return {shape[1], shape[0]};
    return shape;
}

// Rows are put under rows.
Shape with_more_rows(const Shape& shape, std::int64_t rows) {
    Shape larger{shape[0] + rows};
    for (int dim = 1; dim < shape.rank(); ++dim) larger.push_back(shape[dim]);
    return larger;
}

}  // namespace

std::string stored_name(const WeightTable& table, const std::string& ours) {
    const std::optional<StoredModule> stored = stored_module(table, ours);
    if (!stored) return ours;
    return stored->transform.stacked ? stored->name + ".weight" : stored->name;
}

std::vector<StoredParameter> stored_parameters(Model& model) {
    std::vector<StoredParameter> all;
    std::vector<bool> is_transposed;
    std::map<std::string, std::size_t> places;
    const auto add = [&](const std::string& name, const Shape& shape, bool transposed) {
        const auto [place, is_new] = places.emplace(name, all.size());
        if (is_new) {
            all.push_back({name, shape});
            is_transposed.push_back(transposed);
        } else {
            all[place->second].shape = with_more_rows(all[place->second].shape, shape[0]);
        }
    };
    for (const auto& [ours, tensor] : nn::parameters(model)) {
        const std::optional<StoredModule> stored = stored_module(model.weights, ours);
        const std::string name = stored_name(model.weights, ours);
        const Shape& shape = tensor->shape();
        if (!stored || !stored->transform.stacked) {
            add(name, shape, stored && stored->transform.transposed);
            continue;
        }
        Shape of_one;
        for (int dim = 1; dim < shape.rank(); ++dim) of_one.push_back(shape[dim]);
        for (std::int64_t expert = 0; expert < shape[0]; ++expert) {
            std::string numbered = name;
            numbered.replace(numbered.rfind('*'), 1, std::to_string(expert));
            add(numbered, of_one, false);
        }
    }
    for (std::size_t i = 0; i < all.size(); ++i) all[i].shape = as_stored(all[i].shape, is_transposed[i]);
    return all;
}

bool has_name_part(const WeightTable& table, const std::string& ours, const std::string& part) {
    const std::vector<std::string> wanted = parts_of(part);
    if (wanted.empty()) return false;
    const std::string stored = stored_name(table, ours);
    const auto fits = [](const std::string& one, const std::string& pattern) {
        return pattern == "*" || one == pattern;
    };
    for (const std::string& name : {stored, module_alias(table, stored), newest_name(table, stored)}) {
        const std::vector<std::string> parts = parts_of(name);
        if (std::search(parts.begin(), parts.end(), wanted.begin(), wanted.end(), fits) != parts.end()) return true;
    }
    return false;
}

std::string kinds_of_parameters(nn::Module& module, const WeightTable& table) {
    std::set<std::string> seen;
    std::string list;
    for (const auto& [ours, tensor] : nn::parameters(module)) {
        std::string kind;
        for (const std::string& part : parts_of(stored_name(table, ours)))
            kind += text_of(kind.empty() ? "" : ".", is_number(part) ? "*" : part);
        if (seen.insert(kind).second) list += text_of(list.empty() ? "" : ", ", kind);
    }
    return list;
}

}  // namespace tessera::models
