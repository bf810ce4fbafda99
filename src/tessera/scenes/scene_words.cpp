#include "tessera/scenes/scene_words.h"

#include <algorithm>
#include <iterator>

#include "tessera/core/error.h"
#include "tessera/scenes/shapes.h"

namespace tessera::scenes {
namespace {

struct Known {
    const char* name;
    std::vector<std::string> emoji, clip_art;
};

// Things that are told apart at the size of a stamp, in every style. Emoji go by CLDR's short names, clip art by
// titles.
const std::vector<Known>& known_objects() {
    static const std::vector<Known> list = {
        {"dog", {"dog face", "dog"}, {}},
        {"cat", {"cat face", "cat"}, {"cartoon cat"}},
        {"horse", {"horse face", "horse"}, {"horse#1"}},
        {"rabbit", {"rabbit face", "rabbit"}, {}},
        {"frog", {"frog"}, {"red-eye frog"}},
        {"fish", {"fish", "tropical fish"}, {"brown fish"}},
        {"bird", {"bird"}, {}},
        {"bee", {"honeybee"}, {}},
        {"tree", {"deciduous tree", "evergreen tree"}, {"cartoon tree"}},
        {"flower", {"sunflower", "tulip"}, {"red flower"}},
        {"mushroom", {"mushroom"}, {"mushroom"}},
        {"apple", {"red apple", "green apple"}, {"apple"}},
        {"banana", {"banana"}, {}},
        {"pizza", {"pizza"}, {"cheese pizza slice"}},
        {"cake", {"birthday cake"}, {"cake"}},
        {"cup", {"hot beverage", "teacup without handle"}, {"cup"}},
        {"car", {"automobile", "oncoming automobile"}, {"car", "old car"}},
        {"bus", {"bus", "oncoming bus"}, {}},
        {"bicycle", {"bicycle"}, {"bicycle"}},
        {"airplane", {"airplane"}, {"airplane"}},
        {"boat", {"sailboat"}, {}},
        {"house", {"house", "house with garden"}, {"house"}},
        {"umbrella", {"umbrella", "closed umbrella"}, {}},
        {"key", {"key"}, {"key"}},
        {"book", {"closed book", "green book", "blue book", "orange book"}, {"closed book"}},
        {"guitar", {"guitar"}, {"acoustic guitar", "electric guitar"}},
        {"ball", {"soccer ball", "basketball"}, {"soccer ball"}},
        {"clock", {"alarm clock"}, {"alarm clock"}},
    };
    return list;
}

bool is_vowel(char c) { return std::string_view("aeiou").find(c) != std::string_view::npos; }

}  // namespace

std::vector<std::string> default_objects() {
    std::vector<std::string> names;
    for (const Known& known : known_objects()) names.emplace_back(known.name);
    return names;
}

std::vector<std::string> image_names(const std::string& object, bool is_clip_art) {
    for (const Known& known : known_objects())
        if (object == known.name) return is_clip_art ? known.clip_art : known.emoji;
    return {object};
}

bool is_shape_word(std::string_view word) {
    const auto& names = shape_names;
    return std::find(std::begin(names), std::end(names), word) != std::end(names);
}

std::string plural_of(const std::string& name) {
    const auto ends = [&](const char* ending) { return name.ends_with(ending); };
    if (ends("fish") || ends("sheep") || ends("deer")) return name;
    if (ends("mouse")) return name.substr(0, name.size() - 5) + "mice";
    if (ends("wolf") || ends("leaf")) return name.substr(0, name.size() - 1) + "ves";
    if (ends("y") && name.size() > 1 && !is_vowel(name[name.size() - 2]))
        return name.substr(0, name.size() - 1) + "ies";
    if (ends("s") || ends("x") || ends("z") || ends("ch") || ends("sh")) return name + "es";
    return name + "s";
}

std::string with_article(const std::string& name) {
    const bool sounds_like_you = name.starts_with("uni") || name.starts_with("eu");
    return text_of(!name.empty() && is_vowel(name[0]) && !sounds_like_you ? "an " : "a ", name);
}

}  // namespace tessera::scenes
