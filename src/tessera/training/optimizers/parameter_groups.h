// The parameters that learn, grouped by their learning rate: each group is one flat buffer with an optimizer of its
// own.
#pragma once

#include <memory>
#include <vector>

#include "tessera/models/weights.h"
#include "tessera/nn/module.h"
#include "tessera/training/optimizers/optimizer.h"
#include "tessera/training/recipe/recipe.h"

namespace tessera::training {

class ParameterGroups {
   public:
    // Moves the module's parameters into flat buffers. Those that the recipe freezes, and those that already require no
    // gradient, stay where they are. The recipe calls them as the table does; a name that is none of theirs is an
    // error. `phases`: parts of our own names of those that learn in each phase only.
    ParameterGroups(nn::Module& module, const models::WeightTable& table, const Recipe& recipe,
                    const std::vector<std::vector<std::string>>& phases = {});

    void zero_gradients() const;
    // Scales all gradients together to at most this norm (0: leaves them) and returns the norm they had.
    double clip_gradients(double max_norm) const;
    void step(double learning_rate, std::int64_t phase = -1) const;
    std::int64_t steps() const { return groups_.front().optimizer->steps(); }
    std::int64_t elements() const;

    // The optimizers' state under names that no two share.
    void visit_state(const Optimizer::StateVisitor& visit) const;
    void visit_values(const std::function<void(const Tensor& flat)>& visit) const;

   private:
    struct Group {
        std::int64_t phase;  // −1: all of them
        double factor;
        std::unique_ptr<ParameterBuffer> buffer;
        std::unique_ptr<Optimizer> optimizer;
    };
    std::vector<Group> groups_;
};

}  // namespace tessera::training
