#include "tessera/training/objectives/default_objective.h"

#include "tessera/models/catalog.h"
#include "tessera/models/encoder.h"
#include "tessera/models/vision/vision.h"

namespace tessera::training {

std::string default_objective(const models::Model& model) {
    if (const models::Vision* vision = models::architecture_of(model.config).vision) {
        if (vision->rebuilds) return "autoencode";
        if (vision->prompt != nullptr) return "prefix";
        if (vision->texts != nullptr) return "contrastive";
        return "classify";
    }
    if (dynamic_cast<const models::Encoder*>(&model) != nullptr)
        return models::read_text_classes(model.config) > 0 ? "labels" : "masked";
    return model.has_encoder() ? "pairs" : "causal";
}

}  // namespace tessera::training
