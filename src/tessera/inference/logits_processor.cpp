#include "tessera/inference/logits_processor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tessera/core/error.h"

namespace tessera::inference {
namespace {

constexpr float never = -std::numeric_limits<float>::infinity();

void forbid(std::span<float> logits, const std::vector<std::int64_t>& ids) {
    for (const std::int64_t id : ids)
        if (id >= 0 && id < static_cast<std::int64_t>(logits.size())) logits[static_cast<std::size_t>(id)] = never;
}

}  // namespace

LogitsProcessor::LogitsProcessor(models::LogitsRules rules, std::vector<std::int64_t> stop_ids, std::int64_t vocabulary,
                                 std::int64_t max_new_tokens)
    : rules_(std::move(rules)),
      stop_ids_(std::move(stop_ids)),
      max_new_tokens_(static_cast<std::size_t>(max_new_tokens)),
      changes_nothing_(rules_.changes_nothing()) {
    rules_.check_against(vocabulary);
    std::sort(stop_ids_.begin(), stop_ids_.end());
    stop_ids_.erase(std::unique(stop_ids_.begin(), stop_ids_.end()), stop_ids_.end());
    for (std::size_t i = 0; i < rules_.bad_words.size(); ++i) {
        const std::vector<std::int64_t>& word = rules_.bad_words[i];
        if (!word.empty()) bad_words_.push_back({word.size() > 1 ? word[word.size() - 2] : -1, i});
    }
    std::sort(bad_words_.begin(), bad_words_.end(), [](const BadWord& a, const BadWord& b) {
        return a.before != b.before ? a.before < b.before : a.word < b.word;
    });
    if (!changes_nothing_) seen_.resize(static_cast<std::size_t>(vocabulary), 0);
}

bool LogitsProcessor::is_stop(std::int64_t id) const {
    return std::binary_search(stop_ids_.begin(), stop_ids_.end(), id);
}

void LogitsProcessor::apply(std::span<float> logits, const History& history) {
    for (const models::LogitBias& bias : rules_.logit_bias) logits[static_cast<std::size_t>(bias.id)] += bias.value;
    penalise(logits, history);
    forbid_repeated(logits, history);
    forbid_words(logits, history);
    forbid_stops(logits, history);
    forbid(logits, rules_.suppressed);
    if (history.ids.size() == history.prompt) forbid(logits, rules_.suppressed_first);
    force(logits, history);
}

void LogitsProcessor::penalise(std::span<float> logits, const History& history) {
    const auto first_time = [&](std::int64_t id) {
        if (id < 0 || id >= static_cast<std::int64_t>(logits.size())) return false;  // an image's tokens, say
        std::uint32_t& seen = seen_[static_cast<std::size_t>(id)];
        return std::exchange(seen, pass_) != pass_;
    };
    if (rules_.repetition_penalty != 1) {
        ++pass_;
        const auto penalty = static_cast<float>(rules_.repetition_penalty);
        for (const std::int64_t id : history.ids) {
            if (!first_time(id)) continue;
            float& score = logits[static_cast<std::size_t>(id)];
            score = score < 0 ? score * penalty : score / penalty;
        }
    }
    if (rules_.presence_penalty == 0 && rules_.frequency_penalty == 0) return;
    ++pass_;
    for (std::size_t i = history.prompt; i < history.ids.size(); ++i) {
        const std::int64_t id = history.ids[i];
        float& score = logits[static_cast<std::size_t>(id)];
        if (first_time(id)) score -= static_cast<float>(rules_.presence_penalty);
        score -= static_cast<float>(rules_.frequency_penalty);
    }
}

// Wherever the last n − 1 tokens stand in the text already, what followed them then is forbidden now. They are found in
// one walk (Knuth, Morris & Pratt 1977): n may be as long as the text.
void LogitsProcessor::forbid_repeated(std::span<float> logits, const History& history) {
    const auto n = static_cast<std::size_t>(rules_.no_repeat_ngram);
    const std::vector<std::int64_t>& ids = history.ids;
    if (n == 0 || ids.size() + 1 < n) return;
    const std::span<const std::int64_t> tail = std::span(ids).last(n - 1);
    // borders_[i]: how much of the tail's beginning stands at the end of its first i + 1 tokens, not counting all.
    borders_.assign(tail.size(), 0);
    const auto extended = [&](std::size_t matched, std::int64_t id) {
        while (matched > 0 && (matched == tail.size() || tail[matched] != id)) matched = borders_[matched - 1];
        return matched + (matched < tail.size() && tail[matched] == id);
    };
    for (std::size_t i = 1; i < tail.size(); ++i) borders_[i] = extended(borders_[i - 1], tail[i]);
    std::size_t matched = 0;  // of the tail, at the end of what lies before `next`
    for (std::size_t next = 0; next < ids.size(); ++next) {
        const std::int64_t id = ids[next];
        if (matched == tail.size() && id >= 0 && id < static_cast<std::int64_t>(logits.size()))
            logits[static_cast<std::size_t>(id)] = never;
        matched = extended(matched, id);
    }
}

void LogitsProcessor::forbid_words(std::span<float> logits, const History& history) const {
    const std::vector<std::int64_t>& ids = history.ids;
    const auto forbid_after = [&](std::int64_t before) {
        const auto words = std::equal_range(bad_words_.begin(), bad_words_.end(), BadWord{before, 0},
                                            [](const BadWord& a, const BadWord& b) { return a.before < b.before; });
        for (auto at = words.first; at != words.second; ++at) {
            const std::vector<std::int64_t>& word = rules_.bad_words[at->word];
            if (word.size() - 1 > ids.size()) continue;
            const std::int64_t last = word.back();
            const bool begun =
                std::equal(word.begin(), word.end() - 1, ids.end() - static_cast<std::ptrdiff_t>(word.size() - 1));
            if (begun && last >= 0 && last < static_cast<std::int64_t>(logits.size()))
                logits[static_cast<std::size_t>(last)] = never;
        }
    };
    forbid_after(-1);
    if (!ids.empty() && ids.back() != -1) forbid_after(ids.back());
}

void LogitsProcessor::forbid_stops(std::span<float> logits, const History& history) const {
    const auto generated = static_cast<std::int64_t>(history.ids.size() - history.prompt);
    const auto length = static_cast<std::int64_t>(history.ids.size());
    if (generated < rules_.min_new_tokens || length < rules_.min_length) forbid(logits, stop_ids_);
}

void LogitsProcessor::force(std::span<float> logits, const History& history) const {
    const auto only = [&](std::span<const std::int64_t> ids) {
        std::fill(logits.begin(), logits.end(), never);
        for (const std::int64_t id : ids) logits[static_cast<std::size_t>(id)] = 0;
    };
    if (rules_.forced_first && history.ids.size() == 1) only({&*rules_.forced_first, 1});
    if (!rules_.forced_last.empty() && history.ids.size() - history.prompt + 1 == max_new_tokens_)
        only(rules_.forced_last);
}

}  // namespace tessera::inference
