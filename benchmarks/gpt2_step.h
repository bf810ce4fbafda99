// One training step of the engine's own GPT-2 (configs/gpt2.json, random weights): forward, backward, AdamW.
// peers/gpt2_torch.py is the same model in PyTorch.
#pragma once

#include <memory>

#include "tessera/models/model.h"
#include "tessera/training/optimizers/adamw.h"
#include "tessera/training/optimizers/parameter_buffer.h"

namespace tessera::benchmarks {

class Gpt2Step {
   public:
    static constexpr std::int64_t batch = 4, length = 256;  // texts of so many tokens

    Gpt2Step();

    struct Parts {
        double forward = 0, backward = 0, optimizer = 0;  // seconds
        double loss = 0;
    };
    Parts run();
    std::int64_t parameters() const { return buffer_->elements(); }
    double operations() const;  // of the matrix products of a step, attention's half square included

   private:
    std::unique_ptr<models::Model> model_;
    models::Batch batch_;
    std::unique_ptr<training::ParameterBuffer> buffer_;
    std::unique_ptr<training::AdamW> optimizer_;
};

}  // namespace tessera::benchmarks
