// BLEU (Papineni et al. 2002) over a whole corpus with one reference each, as sacreBLEU (Post 2018) defines it: clipped
// n-gram precisions up to four, a penalty for being short, mteval's 13a tokenisation, and exponential smoothing where
// an order has no match.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::evaluation {

enum class BleuWords : std::uint8_t {
    Mteval13a,  // punctuation apart from words, but for points and commas within numbers
    Spaces,     // what stands between spaces
};

std::vector<std::string> bleu_words(std::string_view text, BleuWords kind = BleuWords::Mteval13a);

class Bleu {
   public:
    explicit Bleu(BleuWords kind = BleuWords::Mteval13a) : kind_(kind) {}
    void add(std::string_view hypothesis, std::string_view reference);

    static constexpr std::size_t orders = 4;
    double score() const;                           // 0 to 100
    std::array<double, orders> precisions() const;  // in per cent, smoothed where nothing matched
    double brevity_penalty() const;                 // at most 1

   private:
    BleuWords kind_;
    std::array<std::int64_t, orders> matches_ = {}, totals_ = {};
    std::int64_t hypothesis_words_ = 0, reference_words_ = 0;
};

}  // namespace tessera::evaluation
