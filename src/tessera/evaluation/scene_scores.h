// How well answers about scenes agree with the exact ones, task by task.
#pragma once

#include <array>
#include <string_view>

#include "tessera/formats/json.h"
#include "tessera/scenes/scene_settings.h"

namespace tessera::evaluation {

struct SceneScore {
    std::int64_t asked = 0, exact = 0;  // exact: the same text
    double overlap = 0;                 // detect: Σ over questions of the mean IoU of their boxes
    std::int64_t boxes = 0, found = 0;  // detect: all that were asked for, and those of them with an IoU of ½ or more
    std::int64_t edits = 0, characters = 0;

    double exact_share() const { return asked > 0 ? static_cast<double>(exact) / static_cast<double>(asked) : 0; }
    double mean_overlap() const { return asked > 0 ? overlap / static_cast<double>(asked) : 0; }
    double found_share() const { return boxes > 0 ? static_cast<double>(found) / static_cast<double>(boxes) : 0; }
    double character_error() const {
        return characters > 0 ? static_cast<double>(edits) / static_cast<double>(characters) : 0;
    }
};

class SceneScores {
   public:
    void add(scenes::SceneTask task, std::string_view expected, std::string_view answer);
    const SceneScore& operator[](scenes::SceneTask task) const { return scores_[static_cast<std::size_t>(task)]; }
    formats::Json json() const;

   private:
    std::array<SceneScore, scenes::scene_tasks> scores_ = {};
};

struct BoxMatch {
    double overlap = 0;  // the mean over pairs of intersection over union; 1 where neither side has a box
    std::int64_t wanted = 0, found = 0;  // found: with an intersection over union of ½ or more
};
// Boxes of one label are paired by their overlap, the largest first; a box without a partner, asked for or made up,
// counts 0.
BoxMatch match_boxes(std::string_view expected, std::string_view answer);

}  // namespace tessera::evaluation
