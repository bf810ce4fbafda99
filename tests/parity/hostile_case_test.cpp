// Cases from strangers: without each of their tensors, and with each of another kind or shape, there is an outcome.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/parity/parity.h"
#include "tessera/tensor/tape.h"

namespace tessera::parity {
namespace {

namespace fs = std::filesystem;
using formats::NamedTensors;
using formats::Safetensors;

class HostileCases : public ::testing::TestWithParam<const char*> {
   protected:
    void SetUp() override {
        fs::copy(testing::golden_path(GetParam()), folder_ / "case");
        whole_ = formats::read_safetensors(testing::golden_path(GetParam()) + "/expected.safetensors");
    }

    Outcome with(const std::string& changed, const Tensor& value) const {
        NamedTensors tensors;
        for (const auto& [name, tensor] : whole_.tensors)
            if (name != changed)
                tensors.emplace_back(name, tensor);
            else if (value.defined())
                tensors.emplace_back(name, value);
        formats::write_safetensors(folder_ / "case" / "expected.safetensors", tensors, whole_.metadata);
        return check_case(folder_ / "case", cpu);
    }

    testing::TemporaryFolder folder_;
    Safetensors whole_;
};

TEST_P(HostileCases, EachTensorMayBeMissingOrOdd) {
    ASSERT_TRUE(with("", {}).passed());
    int of_one_kind = 0;  // gradients and hidden states are all alike
    for (const auto& [name, tensor] : whole_.tensors) {
        const bool is_result = name.starts_with("grad.") || name.starts_with("hidden") || name.starts_with("final.");
        if (is_result && ++of_one_kind > 3) continue;
        const Tensor odd[] = {{},
                              Tensor::zeros({}, tensor.dtype()),
                              Tensor::zeros({0}, tensor.dtype()),
                              Tensor::zeros({1, 1}, tensor.dtype()),
                              Tensor::zeros({2, 3, 2, 2}, tensor.dtype()),
                              Tensor::zeros(tensor.shape(), is_float(tensor.dtype()) ? DType::I64 : DType::F32),
                              Tensor::zeros(tensor.shape(), DType::Bool)};
        for (const Tensor& value : odd) {
            const Outcome outcome = with(name, value);  // of whatever kind it now is
            EXPECT_FALSE(outcome.failure.empty() && outcome.quantities.empty()) << name;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, HostileCases,
                         ::testing::Values("optimizers", "recurrent-and-additive", "image-preprocess", "palm-style",
                                           "training-curve-llama", "llama", "t5", "vit"),
                         [](const auto& each) {
                             std::string name = each.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST(HostileCase, ErrorsNameFileAndTensor) {
    const testing::TemporaryFolder folder;
    const auto fails = [&](const NamedTensors& tensors, const formats::Metadata& metadata, const std::string& part) {
        formats::write_safetensors(folder / "expected.safetensors", tensors, metadata);
        const std::string failure = check_case(folder.path(), cpu).failure;
        EXPECT_NE(failure.find((folder / "expected.safetensors").string()), failure.npos) << failure;
        EXPECT_NE(failure.find(part), failure.npos) << failure;
    };
    const Tensor some = Tensor::zeros({2});
    fails({{"adamw.w10", some}}, {}, "the metadata lack 'weight_decay'");
    fails({{"adamw.w10", some}}, {{"weight_decay", "0"}}, "no tensor 'w0'");
    fails({{"adamw.w10", some}, {"w0", some}}, {{"weight_decay", "0"}},
          "tensor 'w0': expected floats of shape (any, any), found f32 of shape (2)");
    fails({{"additive.output", some}}, {}, "no tensor 'x'");
    fails({{"adamw.w10", some}, {"w0", Tensor::zeros({2, 2}, DType::I32)}}, {{"weight_decay", "0"}},
          "tensor 'w0': expected floats");
    const fs::path outside = folder / "secret";
    fs::create_directory(folder / "case");
    fs::rename(folder / "expected.safetensors", outside);
    fs::create_symlink(outside, folder / "case" / "expected.safetensors");
    EXPECT_NE(check_case(folder / "case", cpu).failure.find("a link out of the folder"), std::string::npos);
    testing::expect_error([&] { cases_in(folder / "nothing"); }, {"nothing", "no such file or folder"});
}

}  // namespace
}  // namespace tessera::parity
