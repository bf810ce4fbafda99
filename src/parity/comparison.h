// Adds a quantity's error to an outcome.
#pragma once

#include "parity/parity.h"

namespace tessera::parity {

// One case while it runs.
struct Case {
    const std::filesystem::path& folder;
    const formats::Safetensors& expected;
    Device device;
    std::vector<Quantity>& quantities;

    const Tensor& operator[](const std::string& name) const;  // an expected tensor, on the host; throws where missing
    bool has(const std::string& name) const { return expected.tensors.contains(name); }
    // The which-th number in a text of the metadata: 0.95 is number 1 of "0.9,0.95".
    double setting(const std::string& name, std::size_t which = 0) const;
    Tensor input(const std::string& name) const;  // on the device; undefined where there is none

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
void check_pictures(const Case& run);
void check_plain_decoder(const Case& run);  // weights as "param.NAME", settings in the metadata

}  // namespace tessera::parity
