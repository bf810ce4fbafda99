// How often a model that compares images with texts finds an image's own text among others: zero-shot classification
// as in CLIP (Radford et al. 2021), with the texts as classes.
#pragma once

#include <vector>

#include "tessera/training/objectives/objective.h"
#include "tessera/training/run/trainer.h"

namespace tessera::evaluation {

struct Retrieval {
    std::int64_t texts = 0;           // different ones
    std::vector<std::int64_t> ahead;  // for each image, how many other texts fit at least as well as its own

    // The share of images whose own text fits best among so many: its own and others drawn at random. This is the
    // mean over all draws, not over some.
    double accuracy(std::int64_t candidates) const;
};

// Embeddings as rows, f32 on the host: image i (of P) belongs to text own[i] (of N).
Retrieval rank_texts(const Tensor& images, const Tensor& texts, const std::vector<std::int64_t>& own);

// Over the first examples of a contrastive objective, all texts of these being candidates for each image.
Retrieval retrieve(const models::Model& model, const training::Objective& objective, const training::Recipe& recipe,
                   const training::EvaluationOptions& options = {});

// How well a text is chosen among few, many and all: 10, 100, and as many as there are.
struct Choice {
    std::int64_t candidates = 0;
    double accuracy = 0, chance = 0;  // shares of the images
};
std::vector<Choice> choices_of(const Retrieval& found);

}  // namespace tessera::evaluation
