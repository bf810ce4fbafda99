#include "tessera/tokenizers/training/word_counts.h"

#include <algorithm>
#include <unordered_map>

#include "tessera/core/error.h"
#include "tessera/core/mapped_file.h"
#include "tessera/core/parallel.h"
#include "tessera/formats/binary_data.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/structures/hash.h"

namespace tessera::tokenizers {
namespace {

constexpr std::size_t chunk_bytes = 1 << 20, longest_line = 16 << 20, longest_word = 4096;
constexpr std::size_t chunks_at_once = 16;  // whatever the number of threads, so that forgetting is the same
constexpr std::size_t most_words = 8'000'000;

struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return hash_of(text); }
};
using Counts = std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>>;

void add(Counts& counts, std::string_view word, std::int64_t count) {
    const auto found = counts.find(word);
    if (found != counts.end())
        found->second += count;
    else
        counts.emplace(word, count);
}

// A word past all measure counts as several, so that what is done with a word stays bounded.
void add_parts(Counts& counts, std::string_view word) {
    while (word.size() > longest_word) {
        std::size_t end = longest_word;
        while ((word[end] & 0xC0) == 0x80) --end;
        add(counts, word.substr(0, end), 1);
        word.remove_prefix(end);
    }
    if (!word.empty()) add(counts, word, 1);
}

void count_line(std::string_view line, const WordSplit& split, Counts& counts) {
    std::string normal;
    if (split.normalizer) line = normal = split.normalizer->normalize(line);
    if (line.empty()) return;
    const auto give = [&](Piece piece) { add_parts(counts, piece.text); };
    if (split.pre_tokenizer)
        split.pre_tokenizer->split({line, true}, give);
    else
        give({line, true});
}

Counts count_chunk(std::string_view text, const WordSplit& split) {
    const std::string valid = text::is_valid_utf8(text) ? std::string() : text::repaired_utf8(text);
    if (!valid.empty()) text = valid;
    Counts counts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
        count_line(text.substr(0, end), split, counts);
        text.remove_prefix(end);
    }
    return counts;
}

// About a mebibyte, whole lines; a line past all measure is cut between characters.
std::size_t chunk_end(std::string_view text) {
    if (text.size() <= chunk_bytes) return text.size();
    const std::size_t line = text.substr(0, longest_line).find('\n', chunk_bytes);
    if (line != std::string_view::npos) return line + 1;
    std::size_t end = std::min(text.size(), longest_line);
    while (end < text.size() && end > 1 && (text[end] & 0xC0) == 0x80) --end;
    return end;
}

class Counter {
   public:
    explicit Counter(const WordSplit& split) : split_(split) {}

    void add_text(std::string_view text, const std::function<void(std::size_t)>& done) {
        while (!text.empty()) {
            std::vector<std::string_view> chunks;
            std::size_t bytes = 0;
            while (!text.empty() && chunks.size() < chunks_at_once) {
                const std::size_t end = chunk_end(text);
                chunks.push_back(text.substr(0, end));
                text.remove_prefix(end);
                bytes += end;
            }
            std::vector<Counts> parts(chunks.size());
            parallel_for(static_cast<std::int64_t>(chunks.size()), 1, [&](std::int64_t begin, std::int64_t end) {
                for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
                    parts[i] = count_chunk(chunks[i], split_);
            });
            for (const Counts& part : parts)
                for (const auto& [word, count] : part) add(counts_, word, count);
            if (counts_.size() > most_words) std::erase_if(counts_, [](const auto& entry) { return entry.second < 2; });
            check(counts_.size() <= most_words, "training: the corpus has more than ", most_words, " different words");
            if (done) done(bytes);
        }
    }

    WordCounts take() {
        WordCounts words;
        words.reserve(counts_.size());
        for (auto& [word, count] : counts_) words.push_back({word, count});
        std::sort(words.begin(), words.end(), [](const auto& a, const auto& b) { return a.word < b.word; });
        return words;
    }

   private:
    const WordSplit& split_;
    Counts counts_;
};

}  // namespace

WordCounts count_words(const std::vector<std::filesystem::path>& files, const WordSplit& split, const Report& report) {
    double total = 0, done = 0;
    for (const auto& file : files) {
        std::error_code error;
        const auto bytes = std::filesystem::file_size(file, error);
        check(!error, file.string(), ": ", error.message());
        total += static_cast<double>(bytes);
    }
    Counter counter(split);
    for (const auto& file : files) {
        if (std::filesystem::file_size(file) == 0) continue;
        const MappedFile mapped(file);
        const std::string_view text(reinterpret_cast<const char*>(mapped.data()), mapped.bytes());
        formats::check_is_text(text, file.string());
        counter.add_text(text, [&](std::size_t bytes) {
            done += static_cast<double>(bytes);
            if (report) report(done, total);
        });
    }
    return counter.take();
}

WordCounts count_words(std::string_view text, const WordSplit& split) {
    Counter counter(split);
    counter.add_text(text, {});
    return counter.take();
}

}  // namespace tessera::tokenizers
