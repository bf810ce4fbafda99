#include "tessera/models/capabilities.h"

#include <array>

namespace tessera::models {
namespace {

struct Words {
    Capability capability;
    const char *name, *infinitive, *third_person;
};

constexpr std::array words = {
    Words{Capability::Generate, "generate", "generate text", "generates text"},
    Words{Capability::Score, "score", "score texts token by token", "scores texts token by token"},
    Words{Capability::EncodeDecode, "encode_decode", "read one text and write another",
          "reads one text and writes another"},
    Words{Capability::Align, "align", "align what it writes with what it reads",
          "aligns what it writes with what it reads"},
    Words{Capability::Fill, "fill", "fill masked tokens", "fills masked tokens"},
    Words{Capability::EmbedTexts, "embed_texts", "embed texts", "embeds texts"},
    Words{Capability::EmbedImages, "embed_images", "embed images", "embeds images"},
    Words{Capability::ClassifyTexts, "classify_texts", "classify texts", "classifies texts"},
    Words{Capability::ClassifyImages, "classify_images", "classify images", "classifies images"},
    Words{Capability::LearnClasses, "learn_classes", "learn other classes under a new head",
          "learns other classes under a new head"},
    Words{Capability::CompareImages, "compare_images", "compare images with texts", "compares images with texts"},
    Words{Capability::DescribeImages, "describe_images", "continue texts about images", "continues texts about images"},
    Words{Capability::Reconstruct, "reconstruct", "reconstruct images", "reconstructs images"},
    Words{Capability::LearnLayerwise, "learn_layerwise", "learn layer by layer", "learns layer by layer"},
    Words{Capability::Count, "count", "learn by counting n-grams", "learns by counting n-grams"},
};

constexpr bool is_in_order() {
    for (std::size_t i = 0; i < words.size(); ++i)
        if (static_cast<std::size_t>(words[i].capability) != i) return false;
    return static_cast<std::size_t>(Capability::Count) + 1 == words.size();
}
static_assert(is_in_order());

const Words& words_of(Capability one) { return words[static_cast<std::size_t>(one)]; }

}  // namespace

const std::vector<Capability>& all_capabilities() {
    static const std::vector<Capability> all = [] {
        std::vector<Capability> list;
        for (const Words& entry : words) list.push_back(entry.capability);
        return list;
    }();
    return all;
}

std::vector<Capability> Capabilities::list() const {
    std::vector<Capability> found;
    for (const Capability one : all_capabilities())
        if (has(one)) found.push_back(one);
    return found;
}

const char* name_of(Capability one) { return words_of(one).name; }
const char* infinitive_of(Capability one) { return words_of(one).infinitive; }

std::string text_of_all(Capabilities several) {
    const std::vector<Capability> list = several.list();
    std::string text;
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (i > 0) text += i + 1 == list.size() ? " and " : ", ";
        text += words_of(list[i]).third_person;
    }
    return text.empty() ? "does nothing by itself" : text;
}

}  // namespace tessera::models
