#include "data/scene_scores.h"

#include <algorithm>
#include <tuple>

#include "data/detections.h"

namespace tessera::data {
namespace {

double intersection_over_union(const Detection& a, const Detection& b) {
    const auto box_of = [](const Detection& detection) {
        return detection.box(locations_per_side, locations_per_side);
    };
    const auto area = [](const Detection::Box& box) {
        return static_cast<double>(std::max<std::int64_t>(0, box.right - box.left)) *
               static_cast<double>(std::max<std::int64_t>(0, box.bottom - box.top));
    };
    const Detection::Box x = box_of(a), y = box_of(b);
    const double shared = area(
        {std::max(x.left, y.left), std::max(x.top, y.top), std::min(x.right, y.right), std::min(x.bottom, y.bottom)});
    const double all = area(x) + area(y) - shared;
    return all > 0 ? shared / all : 0;
}

}  // namespace

double box_overlap(std::string_view expected, std::string_view answer) {
    const std::vector<Detection> wanted = read_detections(expected), found = read_detections(answer);
    if (wanted.empty() && found.empty()) return 1;
    std::vector<std::tuple<double, std::size_t, std::size_t>> pairs;
    for (std::size_t i = 0; i < wanted.size(); ++i)
        for (std::size_t j = 0; j < found.size(); ++j)
            if (wanted[i].label == found[j].label)
                pairs.emplace_back(-intersection_over_union(wanted[i], found[j]), i, j);
    std::sort(pairs.begin(), pairs.end());
    std::vector<bool> is_paired(wanted.size()), is_used(found.size());
    double total = 0;
    for (const auto& [overlap, i, j] : pairs) {
        if (is_paired[i] || is_used[j]) continue;
        is_paired[i] = is_used[j] = true;
        total -= overlap;
    }
    return total / static_cast<double>(std::max(wanted.size(), found.size()));
}

std::int64_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::int64_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<std::int64_t>(j);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::int64_t diagonal = row[0];
        row[0] = static_cast<std::int64_t>(i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::int64_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

void SceneScores::add(SceneTask task, std::string_view expected, std::string_view answer) {
    SceneScore& score = scores_[static_cast<std::size_t>(task)];
    ++score.asked;
    if (answer == expected) ++score.exact;
    if (tells_boxes(task)) score.overlap += box_overlap(expected, answer);
    score.edits += edit_distance(expected, answer);
    score.characters += static_cast<std::int64_t>(expected.size());
}

formats::Json SceneScores::json() const {
    formats::Json all = formats::Json::object();
    for (std::size_t i = 0; i < scene_tasks; ++i) {
        const SceneScore& score = scores_[i];
        if (score.asked == 0) continue;
        formats::Json one = formats::Json::object().set("asked", score.asked).set("exact_match", score.exact_share());
        const auto task = static_cast<SceneTask>(i);
        if (tells_boxes(task)) one.set("mean_iou", score.mean_overlap());
        if (task == SceneTask::ocr) one.set("character_error", score.character_error());
        all.set(scene_task_names[i], std::move(one));
    }
    return all;
}

}  // namespace tessera::data
