// Adds a quantity's error to an outcome.
#pragma once

#include <initializer_list>

#include "tessera/parity/parity.h"

namespace tessera::parity {

// What a tensor of a case must be. A size of `any` is not asked for.
enum class Values : std::uint8_t { Floats, Integers, Levels, Numbers };  // levels: bytes; numbers: floats or integers
using Sizes = std::initializer_list<std::int64_t>;
constexpr std::int64_t any = -1;

// One case while it runs.
struct Case {
    const std::filesystem::path& folder;
    const formats::Safetensors& expected;
    Device device;
    std::vector<Quantity>& quantities;

    // An expected tensor, on the host. It must be there, of such values and sizes, or the error names file and tensor.
    const Tensor& tensor(const std::string& name, Values values, Sizes sizes) const;
    std::string source() const;  // the file, for errors
    bool has(const std::string& name) const { return expected.tensors.contains(name); }
    // The which-th number in a text of the metadata: 0.95 is number 1 of "0.9,0.95".
    double setting(const std::string& name, std::size_t which = 0) const;
    std::int64_t whole(const std::string& name, std::int64_t most) const;  // such a number, from 0 to most
    // An expected tensor on the device, checked as above; undefined where there is none.
    Tensor input(const std::string& name, Values values, Sizes sizes) const;
    Tensor input_or_none(const std::string& name, Values values) const;  // of any shape

    // ‖ours − expected‖ / ‖expected‖; a shape that differs is an infinite error.
    void compare(const std::string& name, const Tensor& ours, double tolerance) const;
    // The same, but norms below `floor` count as floor: what is zero but for rounding has no relative error.
    void compare(const std::string& name, const Tensor& ours, double tolerance, double floor) const;
};

double norm_of(const Tensor& x);

void check_model(const Case& run);
void check_training_curve(const Case& run);
void check_optimizers(const Case& run);
void check_recurrent(const Case& run);
void check_images(const Case& run);

}  // namespace tessera::parity
