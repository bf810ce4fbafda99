#include "parity/parity.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "parity/comparison.h"

namespace tessera::parity {
namespace {

struct Kind {
    const char* name;
    const char* mark;  // an expected tensor that only this kind has
    void (*check)(const Case& run);
};

constexpr Kind kinds[] = {
    {"training curve", "losses", check_training_curve},
    {"optimizer steps", "adamw.w10", check_optimizers},
    {"recurrent and additive", "additive.output", check_recurrent},
    {"plain decoder", "param.embed", check_plain_decoder},
    {"pictures", "bicubic_224", check_pictures},
};

}  // namespace

bool Outcome::passed() const {
    return failure.empty() && !quantities.empty() &&
           std::all_of(quantities.begin(), quantities.end(), [](const Quantity& one) { return one.passed(); });
}

double norm_of(const Tensor& x) {
    double squares = 0;
    for (const double value : x.to_vector<double>()) squares += value * value;
    return std::sqrt(squares);
}

const Tensor& Case::operator[](const std::string& name) const {
    const auto found = expected.tensors.find(name);
    check(found != expected.tensors.end(), (folder / "expected.safetensors").string(), ": no tensor '", name, "'");
    return found->second;
}

double Case::setting(const std::string& name, std::size_t which) const {
    const std::string source = (folder / "expected.safetensors").string();
    const auto found = expected.metadata.find(name);
    check(found != expected.metadata.end(), source, ": the metadata lack '", name, "'");
    std::vector<double> numbers;
    const char* at = found->second.c_str();
    while (*at != '\0') {
        char* end = nullptr;
        const double value = std::strtod(at, &end);
        if (end != at) numbers.push_back(value);
        at = end != at ? end : at + 1;
    }
    check(which < numbers.size(), source, ": metadata ", name, ": no number ", which, " in '", found->second, "'");
    return numbers[which];
}

Tensor Case::input(const std::string& name) const { return has(name) ? (*this)[name].to(device) : Tensor(); }

void Case::compare(const std::string& name, const Tensor& ours, double tolerance) const {
    compare(name, ours, tolerance, 0);
}

void Case::compare(const std::string& name, const Tensor& ours, double tolerance, double floor) const {
    const Tensor& theirs = (*this)[name];
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
        const formats::Safetensors expected = formats::read_safetensors(folder / "expected.safetensors");
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
    check(std::filesystem::is_directory(folder), folder.string(), ": no such folder");
    if (std::filesystem::exists(folder / "expected.safetensors")) return {folder};
    std::vector<std::filesystem::path> cases;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (std::filesystem::exists(entry.path() / "expected.safetensors")) cases.push_back(entry.path());
    std::sort(cases.begin(), cases.end());
    check(!cases.empty(), folder.string(), ": no expected.safetensors in it or right below it");
    return cases;
}

}  // namespace tessera::parity
