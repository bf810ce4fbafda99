#include "tessera/models/weights.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "tessera/models/adapters/stored_module.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether `name` is `pattern` or something below it; the numbers that stood for * come back, and the rest of the name.
struct Match {
    std::vector<std::string> numbers;
    std::string rest;  // "", or ".weight"
};

std::optional<Match> match(const std::string& pattern, const std::string& name) {
    Match found;
    std::size_t at = 0;
    for (const char c : pattern) {
        if (c != '*') {
            if (at >= name.size() || name[at] != c) return std::nullopt;
            ++at;
            continue;
        }
        const std::size_t begin = at;
        while (at < name.size() && is_digit(name[at])) ++at;
        if (at == begin) return std::nullopt;
        found.numbers.push_back(name.substr(begin, at - begin));
    }
    if (at < name.size() && name[at] != '.') return std::nullopt;
    found.rest = name.substr(at);
    return found;
}

// `*` stands for anything, any number of characters.
bool matches_anything(std::string_view pattern, std::string_view name) {
    const std::size_t star = pattern.find('*');
    if (star == std::string_view::npos) return pattern == name;
    if (!name.starts_with(pattern.substr(0, star))) return false;
    const std::string_view rest = pattern.substr(star + 1);
    for (std::size_t at = star; at <= name.size(); ++at)
        if (matches_anything(rest, name.substr(at))) return true;
    return false;
}

std::string substituted(const std::string& pattern, const std::vector<std::string>& numbers) {
    std::string name;
    std::size_t next = 0;
    for (const char c : pattern) {
        if (c == '*' && next < numbers.size())
            name += numbers[next++];
        else
            name += c;  // the * of stacked experts stays
    }
    return name;
}

// One tensor of the checkpoint (or, stacked, one per expert) and our parameters that it holds.
struct Stored {
    struct Part {
        std::string name;
        Tensor* parameter;
        int part;
    };
    std::vector<Part> parts;
    WeightTransform transform;
};

// Checkpoint name → what it holds. The name of stacked tensors keeps its *.
std::map<std::string, Stored> stored_tensors(nn::Module& module, const WeightTable& table) {
    std::map<std::string, Stored> all;
    for (const auto& [name, parameter] : nn::parameters(module)) {
        bool known = false;
        for (const WeightName& rule : table.names) {
            const std::optional<Match> found = match(rule.ours, name);
            if (!found) continue;
            known = true;
            Stored& stored = all[substituted(rule.theirs, found->numbers) + found->rest];
            stored.transform = rule.transform;
            stored.parts.push_back({name, parameter, rule.transform.part});
            break;
        }
        check(known, "the table of weight names has no entry for ", name);
    }
    for (auto& [name, stored] : all)
        std::sort(stored.parts.begin(), stored.parts.end(), [](auto& a, auto& b) { return a.part < b.part; });
    return all;
}

std::string expert_name(const std::string& pattern, std::int64_t expert) {
    return substituted(pattern, {std::to_string(expert)});
}

Tensor transposed_matrix(const Tensor& x) { return x.rank() == 2 ? ops::transpose(x, 0, 1) : x; }

// (rows, …) → (groups, rows / groups, …)
Tensor in_groups(const Tensor& x, std::int64_t groups) {
    Shape shape{groups, x.size(0) / groups};
    for (int dim = 1; dim < x.rank(); ++dim) shape.push_back(x.shape()[dim]);
    return ops::reshape(x, shape);
}

bool same_but_for_ones(const Shape& a, const Shape& b) {
    const auto dense = [](const Shape& shape) {
        std::vector<std::int64_t> sizes;
        std::copy_if(shape.begin(), shape.end(), std::back_inserter(sizes),
                     [](std::int64_t size) { return size != 1; });
        return sizes;
    };
    return dense(a) == dense(b);
}

bool same_bytes(const Tensor& a, const Tensor& b) {
    if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
    const Tensor left = a.contiguous(), right = b.contiguous();
    return std::memcmp(left.view().data, right.view().data,
                       static_cast<std::size_t>(bytes_of(a.dtype(), a.elements()))) == 0;
}

class Loader {
   public:
    Loader(const WeightTable& table, const formats::TensorMap& tensors, const std::string& source)
        : table_(table), source_(source) {
        const std::string& prefix = table.optional_prefix;
        const bool bare = !prefix.empty() && std::none_of(tensors.begin(), tensors.end(), [&](const auto& entry) {
            return entry.first.starts_with(prefix);
        });
        for (const auto& [name, tensor] : tensors) {
            const auto [other, is_first] = tensors_.emplace(canonical_name(table, name), tensor);
            check(is_first || same_bytes(other->second, tensor), source, ": tensor '", name,
                  "' differs from another that stands for '", other->first, "' too: the model has one tensor for both");
        }
        if (bare) bare_prefix_ = prefix;
    }

    void load(const std::string& name, const Stored& stored) {
        if (stored.transform.stacked) return load_stacked(name, stored);
        const Tensor* found = find(name);
        if (!found) return;
        const Tensor whole = stored.transform.transposed ? transposed_matrix(*found) : *found;
        if (stored.transform.part < 0) return assign(stored.parts[0], whole, name);
        split(name, stored, whole);
    }

    // One error for everything that is missing or left over.
    void finish() const {
        std::vector<std::string> left;
        for (const auto& [name, tensor] : tensors_) {
            const auto matches = [&name = name](const std::string& pattern) { return matches_anything(pattern, name); };
            const bool ignored = std::any_of(table_.ignored.begin(), table_.ignored.end(), matches);
            if (!used_.contains(name) && !ignored) left.push_back(name);
        }
        refuse_unless_empty(left);
    }

   private:
    static constexpr std::size_t most_missing = 1000, most_listed = 20;

    void refuse_unless_empty(const std::vector<std::string>& left) const {
        std::string text;
        const auto list = [&](const char* title, const std::vector<std::string>& names) {
            if (names.empty()) return;
            text += text_of("; ", title, " (", names.size(), "):");
            for (std::size_t i = 0; i < std::min(names.size(), most_listed); ++i)
                text += text_of(i > 0 ? ", " : " ", names[i]);
            if (names.size() > most_listed) text += ", …";
        };
        list("missing", missing_);
        list("not known to this model", left);
        check(text.empty(), source_, ": the tensors are not those of this model", text);
    }

    const Tensor* find(const std::string& name) {
        const std::string stored = name.starts_with(bare_prefix_) ? name.substr(bare_prefix_.size()) : name;
        const auto found = tensors_.find(stored);
        if (found == tensors_.end()) {
            const auto& optional = table_.optional;
            if (std::find(optional.begin(), optional.end(), name) == optional.end()) missing_.push_back(stored);
            // A few digits in config.json can ask for millions; so many are no slip.
            if (missing_.size() >= most_missing) refuse_unless_empty({});
            return nullptr;
        }
        used_.insert(stored);
        return &found->second;
    }

    void assign(const Stored::Part& part, const Tensor& value, const std::string& name) const {
        const Shape& wanted = part.parameter->shape();
        check(value.shape() == wanted || same_but_for_ones(value.shape(), wanted), source_, ": ", name, " has shape ",
              value.shape(), ", config.json asks for ", wanted);
        const bool counts = is_integer(part.parameter->dtype());
        check(
            counts ? value.dtype() == part.parameter->dtype() : is_float(value.dtype()) || is_quantised(value.dtype()),
            source_, ": ", name, " is of dtype ", value.dtype(), ", not ",
            counts ? info(part.parameter->dtype()).name : std::string_view("a float"));
        check(!is_quantised(value.dtype()) || wanted.rank() >= 2, source_, ": ", name, " is of dtype ", value.dtype(),
              ", which only matrices may have");
        *part.parameter = value.shape() == wanted ? value : ops::reshape(value, wanted);
    }

    // Slices of the one tensor; with several groups their rows must be brought together first.
    void split(const std::string& name, const Stored& stored, const Tensor& whole) const {
        Shape wanted = stored.parts[0].parameter->shape();
        for (std::size_t i = 1; i < stored.parts.size(); ++i) wanted[0] += stored.parts[i].parameter->size(0);
        const std::int64_t groups = stored.transform.groups;
        check(whole.shape() == wanted && wanted[0] % groups == 0, source_, ": ", name, " has shape ", whole.shape(),
              ", config.json asks for ", wanted);
        const Tensor grouped = groups > 1 ? in_groups(whole, groups) : whole;
        std::int64_t at = 0;
        for (const Stored::Part& part : stored.parts) {
            const std::int64_t count = part.parameter->size(0) / groups;
            const Tensor slice = ops::slice(grouped, groups > 1 ? 1 : 0, at, at + count);
            assign(part, groups > 1 ? ops::reshape(slice, part.parameter->shape()) : slice, name);
            at += count;
        }
    }

    void load_stacked(const std::string& name, const Stored& stored) {
        const Shape wanted = stored.parts[0].parameter->shape();
        std::vector<Tensor> experts;
        for (std::int64_t expert = 0; expert < wanted[0]; ++expert) {
            const Tensor* found = find(expert_name(name + ".weight", expert));
            if (!found) continue;
            check(found->rank() == 2 && found->size(0) == wanted[1] && found->size(1) == wanted[2], source_, ": ",
                  expert_name(name + ".weight", expert), " has shape ", found->shape(), ", config.json asks for (",
                  wanted[1], ", ", wanted[2], ")");
            experts.push_back(ops::reshape(*found, {1, wanted[1], wanted[2]}));
        }
        if (static_cast<std::int64_t>(experts.size()) == wanted[0])
            *stored.parts[0].parameter = ops::concat(experts, 0);
    }

    const WeightTable& table_;
    const std::string& source_;
    std::map<std::string, Tensor> tensors_;
    std::string bare_prefix_;
    std::set<std::string> used_;
    std::vector<std::string> missing_;
};

}  // namespace

void add_part(WeightTable& whole, const WeightTable& part, const std::string& ours, const std::string& theirs) {
    for (const WeightName& name : part.names)
        whole.names.push_back({text_of(ours, name.ours), text_of(theirs, name.theirs), name.transform});
    for (const std::string& pattern : part.ignored)
        whole.ignored.push_back(pattern.starts_with('*') ? pattern : text_of(theirs, pattern));
}

std::string canonical_name(const WeightTable& table, const std::string& name) {
    std::string canonical = name;
    for (const auto* list : {&table.module_aliases, &table.aliases})
        for (const auto& [other, ours] : *list)
            if (const auto at = canonical.find(other); at != std::string::npos)
                canonical.replace(at, other.size(), ours);
    return canonical;
}

std::optional<StoredModule> stored_module(const WeightTable& table, const std::string& ours) {
    for (const WeightName& rule : table.names)
        if (const std::optional<Match> found = match(rule.ours, ours))
            return StoredModule{substituted(rule.theirs, found->numbers) + found->rest, rule.transform};
    return std::nullopt;
}

namespace {

std::string renamed_back(const std::string& name, const std::vector<std::pair<std::string, std::string>>& names) {
    std::string other = name + ".";
    for (auto pair = names.rbegin(); pair != names.rend(); ++pair)
        if (const auto at = other.find(pair->second); at != std::string::npos)
            other.replace(at, pair->second.size(), pair->first);
    return other.substr(0, other.size() - 1);
}

}  // namespace

std::string module_alias(const WeightTable& table, const std::string& name) {
    return renamed_back(name, table.module_aliases);
}

std::string newest_name(const WeightTable& table, const std::string& name) {
    return renamed_back(renamed_back(name, table.aliases), table.module_aliases);
}

bool is_called(const WeightTable& table, const std::string& name, const std::string& end) {
    for (const std::string& one : {name, module_alias(table, name), newest_name(table, name)})
        if (one == end || one.ends_with(text_of(".", end))) return true;
    return false;
}

void load_weights(nn::Module& module, const WeightTable& table, const formats::TensorMap& tensors,
                  const std::string& source) {
    const NoGrad no_grad;
    Loader loader(table, tensors, source);
    for (const auto& [name, stored] : stored_tensors(module, table)) loader.load(name, stored);
    loader.finish();
}

std::vector<std::pair<std::string, Tensor>> checkpoint_tensors(nn::Module& module, const WeightTable& table,
                                                               const ValueOf& value_of) {
    const NoGrad no_grad;
    std::vector<std::pair<std::string, Tensor>> out;
    for (const auto& [name, stored] : stored_tensors(module, table)) {
        std::vector<Tensor> values;
        for (const Stored::Part& part : stored.parts)
            if (const Tensor value = value_of(*part.parameter); value.defined()) values.push_back(value);
        if (values.size() != stored.parts.size()) continue;
        if (stored.transform.stacked) {
            for (std::int64_t expert = 0; expert < values[0].size(0); ++expert)
                out.emplace_back(expert_name(name + ".weight", expert), ops::select(values[0], 0, expert));
            continue;
        }
        const std::int64_t groups = stored.transform.groups;
        if (groups > 1)
            for (Tensor& value : values) value = in_groups(value, groups);
        Tensor whole = values.size() == 1 ? values[0] : ops::concat(values, groups > 1 ? 1 : 0);
        if (groups > 1) {
            Shape shape{whole.size(0) * whole.size(1)};
            for (int dim = 2; dim < whole.rank(); ++dim) shape.push_back(whole.shape()[dim]);
            whole = ops::reshape(whole, shape);
        }
        out.emplace_back(name, stored.transform.transposed ? transposed_matrix(whole) : whole);
    }
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return out;
}

}  // namespace tessera::models
