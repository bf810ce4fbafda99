#include "tessera/evaluation/scene_scores.h"

#include <algorithm>
#include <tuple>

#include "tessera/data/detections.h"
#include "tessera/text/edit_distance.h"

namespace tessera::evaluation {
namespace {

double intersection_over_union(const data::Detection& a, const data::Detection& b) {
    const auto box_of = [](const data::Detection& detection) {
        return detection.box(data::locations_per_side, data::locations_per_side);
    };
    const auto area = [](const data::Detection::Box& box) {
        return static_cast<double>(std::max<std::int64_t>(0, box.right - box.left)) *
               static_cast<double>(std::max<std::int64_t>(0, box.bottom - box.top));
    };
    const data::Detection::Box x = box_of(a), y = box_of(b);
    const double shared = area(
        {std::max(x.left, y.left), std::max(x.top, y.top), std::min(x.right, y.right), std::min(x.bottom, y.bottom)});
    const double all = area(x) + area(y) - shared;
    return all > 0 ? shared / all : 0;
}

}  // namespace

BoxMatch match_boxes(std::string_view expected, std::string_view answer) {
    const std::vector<data::Detection> wanted = data::read_detections(expected), found = data::read_detections(answer);
    if (wanted.empty() && found.empty()) return {.overlap = 1};
    BoxMatch match{.wanted = static_cast<std::int64_t>(wanted.size())};
    std::vector<std::tuple<double, std::size_t, std::size_t>> pairs;
    for (std::size_t i = 0; i < wanted.size(); ++i)
        for (std::size_t j = 0; j < found.size(); ++j)
            if (wanted[i].label == found[j].label)
                pairs.emplace_back(-intersection_over_union(wanted[i], found[j]), i, j);
    std::sort(pairs.begin(), pairs.end());
    std::vector<bool> is_paired(wanted.size()), is_used(found.size());
    for (const auto& [minus_overlap, i, j] : pairs) {
        if (is_paired[i] || is_used[j]) continue;
        is_paired[i] = is_used[j] = true;
        match.overlap -= minus_overlap;
        if (minus_overlap <= -0.5) ++match.found;
    }
    match.overlap /= static_cast<double>(std::max(wanted.size(), found.size()));
    return match;
}

void SceneScores::add(scenes::SceneTask task, std::string_view expected, std::string_view answer) {
    SceneScore& score = scores_[static_cast<std::size_t>(task)];
    ++score.asked;
    if (answer == expected) ++score.exact;
    if (scenes::tells_boxes(task)) {
        const BoxMatch match = match_boxes(expected, answer);
        score.overlap += match.overlap;
        score.boxes += match.wanted;
        score.found += match.found;
    }
    score.edits += edit_distance(expected, answer);
    score.characters += static_cast<std::int64_t>(expected.size());
}

formats::Json SceneScores::json() const {
    formats::Json all = formats::Json::object();
    for (std::size_t i = 0; i < scenes::scene_tasks; ++i) {
        const SceneScore& score = scores_[i];
        if (score.asked == 0) continue;
        formats::Json one = formats::Json::object().set("asked", score.asked).set("exact_match", score.exact_share());
        const auto task = static_cast<scenes::SceneTask>(i);
        if (scenes::tells_boxes(task)) one.set("mean_iou", score.mean_overlap()).set("found", score.found_share());
        if (task == scenes::SceneTask::Ocr) one.set("character_error", score.character_error());
        all.set(scenes::scene_task_names[i], std::move(one));
    }
    return all;
}

}  // namespace tessera::evaluation
