// How well answers about scenes agree with the exact ones, task by task.
#pragma once

#include <array>
#include <string_view>

#include "data/scene_settings.h"
#include "formats/json.h"

namespace tessera::data {

struct SceneScore {
    std::int64_t asked = 0, exact = 0;  // exact: the same text
    double overlap = 0;                 // detect: Σ over questions of the mean IoU of their boxes
    std::int64_t edits = 0, characters = 0;

    double exact_share() const { return asked > 0 ? static_cast<double>(exact) / static_cast<double>(asked) : 0; }
    double mean_overlap() const { return asked > 0 ? overlap / static_cast<double>(asked) : 0; }
    double character_error() const {
        return characters > 0 ? static_cast<double>(edits) / static_cast<double>(characters) : 0;
    }
};

class SceneScores {
   public:
    void add(SceneTask task, std::string_view expected, std::string_view answer);
    const SceneScore& operator[](SceneTask task) const { return scores_[static_cast<std::size_t>(task)]; }
    formats::Json json() const;

   private:
    std::array<SceneScore, scene_tasks> scores_ = {};
};

// Boxes of one label are paired by their overlap, the largest first; the mean over pairs of intersection over union,
// where a box without a partner, asked for or made up, counts 0. 1 where neither side has one.
double box_overlap(std::string_view expected, std::string_view answer);
// Characters to insert, remove or change (Levenshtein 1966), by bytes.
std::int64_t edit_distance(std::string_view a, std::string_view b);

}  // namespace tessera::data
