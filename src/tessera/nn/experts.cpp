#include "tessera/nn/experts.h"

#include "tessera/ops/binary.h"
#include "tessera/ops/experts.h"
#include "tessera/ops/views.h"

namespace tessera::nn {

Experts::Experts(const ExpertsSettings& s)
    : router(s.width, s.experts, false),
      gate(Tensor::deferred({s.experts, s.hidden, s.width})),
      up(Tensor::deferred({s.experts, s.hidden, s.width})),
      down(Tensor::deferred({s.experts, s.width, s.hidden})),
      settings_(s) {
    check(s.routing.k >= 1 && s.routing.k <= s.experts, "experts: ", s.routing.k, " of ", s.experts,
          " experts per token");
    if (s.shared_hidden > 0)
        shared = std::make_unique<FeedForward>(FeedForwardSettings{
            .width = s.width, .hidden = s.shared_hidden, .activation = s.activation, .gated = true, .has_bias = false});
}

Tensor Experts::forward(const Tensor& x, const Context& context) const {
    const Tensor tokens = ops::reshape(x, {-1, settings_.width});
    const Tensor logits = router.forward(tokens, context);
    const ops::Routing routing = ops::route(logits, settings_.routing);
    if (context.router_choices) context.router_choices->push_back({logits, routing.indices});
    const ops::ExpertPlan plan = ops::plan_experts(routing.indices, settings_.experts);
    const Tensor rows = ops::dispatch(tokens, plan);
    const Tensor hidden = gated_activation(settings_.activation, ops::grouped_linear(rows, gate, plan),
                                           ops::grouped_linear(rows, up, plan));
    Tensor out = ops::reshape(ops::combine(ops::grouped_linear(hidden, down, plan), routing.weights, plan), x.shape());
    return shared ? ops::add(out, shared->forward(x, context)) : out;
}

void Experts::visit(const Visitor& visitor) {
    visitor("router", router);
    visitor("experts.gate", gate);
    visitor("experts.up", up);
    visitor("experts.down", down);
    visitor("shared", shared);
}

}  // namespace tessera::nn
