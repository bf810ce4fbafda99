#include "tessera/parity/parity.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "tessera/formats/find_file.h"
#include "tessera/parity/comparison.h"

namespace tessera::parity {
namespace {

constexpr const char* expected_name = "expected.safetensors";

struct Kind {
    const char* name;
    const char* mark;  // an expected tensor that only this kind has
    void (*check)(const Case& run);
};

constexpr Kind kinds[] = {
    {"training curve", "losses", check_training_curve},
    {"optimizer steps", "adamw.w10", check_optimizers},
    {"recurrent and additive", "additive.output", check_recurrent},
    {"pictures", "bicubic_224", check_images},
};

}  // namespace

bool Outcome::passed() const {
    return failure.empty() && !quantities.empty() &&
           std::all_of(quantities.begin(), quantities.end(), [](const Quantity& one) { return one.passed(); });
}

namespace {

bool is_of(Values values, DType dtype) {
    switch (values) {
        case Values::Floats: return is_float(dtype) && !is_quantised(dtype);
        case Values::Integers: return is_integer(dtype);
        case Values::Levels: return dtype == DType::U8;
        default: return !is_quantised(dtype);
    }
}

const char* word_of(Values values) {
    switch (values) {
        case Values::Floats: return "floats";
        case Values::Integers: return "integers";
        case Values::Levels: return "bytes";
        default: return "numbers";
    }
}

std::string text_of_sizes(Sizes sizes) {
    std::string text = "(";
    for (const std::int64_t size : sizes) {
        if (text.size() > 1) text += ", ";
        text += size == any ? std::string("any") : std::to_string(size);
    }
    return text + ")";
}

}  // namespace

double norm_of(const Tensor& x) {
    double squares = 0;
    for (const double value : x.to_vector<double>()) squares += value * value;
    return std::sqrt(squares);
}

std::string Case::source() const { return (folder / expected_name).string(); }

const Tensor& Case::tensor(const std::string& name, Values values, Sizes sizes) const {
    const auto found = expected.tensors.find(name);
    check(found != expected.tensors.end(), source(), ": no tensor '", name, "'");
    const Tensor& tensor = found->second;
    bool fits = is_of(values, tensor.dtype()) && tensor.rank() == static_cast<int>(sizes.size());
    int dim = 0;
    for (const std::int64_t size : sizes) {
        fits = fits && (size == any || tensor.size(dim) == size);
        ++dim;
    }
    check(fits, source(), ": tensor '", name, "': expected ", word_of(values), " of shape ", text_of_sizes(sizes),
          ", found ", tensor.dtype(), " of shape ", tensor.shape());
    return tensor;
}

double Case::setting(const std::string& name, std::size_t which) const {
    const auto found = expected.metadata.find(name);
    check(found != expected.metadata.end(), source(), ": the metadata lack '", name, "'");
    std::vector<double> numbers;
    const char* at = found->second.c_str();
    while (*at != '\0') {
        char* end = nullptr;
        const double value = std::strtod(at, &end);
        if (end != at) numbers.push_back(value);
        at = end != at ? end : at + 1;
    }
    check(which < numbers.size(), source(), ": metadata ", name, ": no number ", which, " in '", found->second, "'");
    return numbers[which];
}

std::int64_t Case::whole(const std::string& name, std::int64_t most) const {
    const double value = setting(name);
    check(value >= 0 && value <= static_cast<double>(most) && value == std::trunc(value), source(), ": metadata ", name,
          ": expected a whole number from 0 to ", most, ", found '", expected.metadata.at(name), "'");
    return static_cast<std::int64_t>(value);
}

Tensor Case::input(const std::string& name, Values values, Sizes sizes) const {
    return tensor(name, values, sizes).to(device);
}

Tensor Case::input_or_none(const std::string& name, Values values) const {
    if (!has(name)) return {};
    const Tensor& tensor = expected.tensors.at(name);
    check(is_of(values, tensor.dtype()), source(), ": tensor '", name, "': expected ", word_of(values), ", found ",
          tensor.dtype());
    return tensor.to(device);
}

void Case::compare(const std::string& name, const Tensor& ours, double tolerance) const {
    compare(name, ours, tolerance, 0);
}

void Case::compare(const std::string& name, const Tensor& ours, double tolerance, double floor) const {
    const auto found = expected.tensors.find(name);
    check(found != expected.tensors.end() && !is_quantised(found->second.dtype()), source(), ": no tensor '", name,
          "' of numbers");
    const Tensor& theirs = found->second;
    Quantity quantity{.name = name, .tolerance = tolerance};
    if (!ours.defined()) {
        quantity.error = std::numeric_limits<double>::infinity();
        quantity.note = "not computed";
    } else if (ours.elements() != theirs.elements()) {
        quantity.error = std::numeric_limits<double>::infinity();
        quantity.note = text_of("shape ", ours.shape(), ", expected ", theirs.shape());
    } else {
        const std::vector<double> a = ours.to_vector<double>(), b = theirs.to_vector<double>();
        double difference = 0;
        for (std::size_t i = 0; i < a.size(); ++i) difference += (a[i] - b[i]) * (a[i] - b[i]);
        const double norm = norm_of(theirs);
        if (norm < floor) quantity.note = "zero but for rounding";
        const double scale = std::max(norm, floor);
        quantity.error = difference == 0 ? 0 : std::sqrt(difference) / scale;
    }
    quantities.push_back(quantity);
}

Outcome check_case(const std::filesystem::path& folder, Device device) {
    Outcome outcome{.folder = folder};
    const auto start = std::chrono::steady_clock::now();
    try {
        const std::filesystem::path file = formats::find_file(folder, expected_name);
        check(!file.empty(), folder.string(), ": no ", expected_name, " in this folder");
        const formats::Safetensors expected = formats::read_safetensors(file);
        const Case run{folder, expected, device, outcome.quantities};
        const auto* kind =
            std::find_if(std::begin(kinds), std::end(kinds), [&](const Kind& k) { return run.has(k.mark); });
        outcome.kind = kind == std::end(kinds) ? "model" : kind->name;
        kind == std::end(kinds) ? check_model(run) : kind->check(run);
        check(!outcome.quantities.empty(), (folder / "expected.safetensors").string(),
              ": holds nothing that can be compared");
    } catch (const std::exception& error) {
        outcome.failure = error.what();
    }
    outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return outcome;
}

std::vector<std::filesystem::path> cases_in(const std::filesystem::path& folder) {
    formats::check_exists(folder);
    std::error_code error;
    if (std::filesystem::exists(folder / expected_name, error)) return {folder};
    std::vector<std::filesystem::path> cases;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error))
        if (std::error_code ignored; std::filesystem::exists(entry.path() / expected_name, ignored))
            cases.push_back(entry.path());
    check(!error, folder.string(), ": ", error.message());
    std::sort(cases.begin(), cases.end());
    check(!cases.empty(), folder.string(), ": no ", expected_name, " in it or right below it");
    return cases;
}

}  // namespace tessera::parity
