#include "tessera/scenes/questions.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "tessera/core/error.h"
#include "tessera/scenes/scene_words.h"

namespace tessera::scenes {
namespace {

using Box = data::Detection::Box;

// Twice a centre's place, so that it is a whole number.
std::int64_t twice_x(const Box& box) { return box.left + box.right; }
std::int64_t twice_y(const Box& box) { return box.top + box.bottom; }

std::vector<const SceneObject*> left_to_right(std::span<const SceneObject> objects) {
    std::vector<const SceneObject*> order;
    for (const SceneObject& object : objects) order.push_back(&object);
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
        return std::pair(twice_x(a->box), twice_y(a->box)) < std::pair(twice_x(b->box), twice_y(b->box));
    });
    return order;
}

std::string several(std::size_t count, const SceneObject& object) {
    static constexpr const char* numbers[] = {"no", "one", "two", "three", "four", "five", "six"};
    if (object.kind == SceneObject::Kind::Text) {
        const bool is_number = std::isdigit(static_cast<unsigned char>(object.name[0])) != 0;
        return text_of(is_number ? "the number " : "the word ", object.name);
    }
    if (count == 1) return with_article(object.name);
    return text_of(count < std::size(numbers) ? std::string(numbers[count]) : std::to_string(count), " ",
                   plural_of(object.name));
}

std::optional<std::string> relation_of_two(const SceneObject& left, const SceneObject& right, std::int64_t size) {
    const std::int64_t across = twice_x(right.box) - twice_x(left.box), down = twice_y(right.box) - twice_y(left.box);
    if (std::abs(across - std::abs(down)) < size / 5) return std::nullopt;
    if (across > std::abs(down)) return text_of(several(1, left), " left of ", several(1, right));
    return down > 0 ? text_of(several(1, left), " above ", several(1, right))
                    : text_of(several(1, right), " above ", several(1, left));
}

struct Direction {
    const char* words;
    std::int64_t across, down;  // from the answer to the asked
};
constexpr Direction directions[] = {{"left of", 1, 0}, {"right of", -1, 0}, {"above", 0, 1}, {"below", 0, -1}};

enum class Holds : std::uint8_t { No, Unclear, Yes };

// Within 45 degrees of the direction, and not near the edges of that.
Holds stands(const Box& box, const Direction& direction, const Box& from, std::int64_t size) {
    const std::int64_t x = twice_x(from) - twice_x(box), y = twice_y(from) - twice_y(box);
    const std::int64_t along = x * direction.across + y * direction.down;
    const std::int64_t beside = std::abs(x * direction.down) + std::abs(y * direction.across);
    if (along <= beside - size / 6) return Holds::No;
    return along >= beside + size / 6 ? Holds::Yes : Holds::Unclear;
}

// Adds "<loc…><loc…><loc…><loc…> name" to those before it.
void append_detection(std::string& list, const SceneObject& object, std::int64_t size) {
    if (!list.empty()) list += " ; ";
    const Box& box = object.box;
    for (const std::int64_t edge : {box.top, box.left, box.bottom, box.right}) {
        const std::string digits = std::to_string(location_of(edge, size));
        list += text_of("<loc", std::string(4 - digits.size(), '0'), digits, ">");
    }
    list += text_of(" ", object.name);
}

}  // namespace

std::optional<SceneQuestion> ask_caption(std::span<const SceneObject> objects, std::int64_t size) {
    if (objects.empty()) return std::nullopt;
    struct Group {
        const SceneObject* first;
        std::size_t count;
    };
    std::vector<Group> groups;
    for (const SceneObject* object : left_to_right(objects)) {
        const auto known = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
            return group.first->name == object->name && group.first->kind == object->kind;
        });
        if (known != groups.end())
            ++known->count;
        else
            groups.push_back({object, 1});
    }
    SceneQuestion question{.prefix = "caption en"};
    if (groups.size() == 2 && objects.size() == 2) {
        const auto relation = relation_of_two(*groups[0].first, *groups[1].first, size);
        if (!relation) return std::nullopt;
        question.suffix = *relation;
        return question;
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (i > 0 && twice_x(groups[i].first->box) - twice_x(groups[i - 1].first->box) < size / 7) return std::nullopt;
        question.suffix += text_of(i == 0                   ? ""
                                   : i + 1 == groups.size() ? " and "
                                                            : ", ",
                                   several(groups[i].count, *groups[i].first));
    }
    return question;
}

std::optional<SceneQuestion> ask_where(std::span<const SceneObject> objects, std::int64_t size,
                                       data::RandomSequence& draws) {
    std::vector<SceneQuestion> clear;
    for (const SceneObject& asked : objects)
        for (const Direction& direction : directions) {
            const SceneObject* answer = nullptr;
            bool is_clear = true;
            for (const SceneObject& other : objects) {
                if (&other == &asked) continue;
                const Holds holds = stands(other.box, direction, asked.box, size);
                if (other.name == asked.name || holds == Holds::Unclear || (holds == Holds::Yes && answer))
                    is_clear = false;
                if (holds == Holds::Yes) answer = &other;
            }
            if (is_clear && answer)
                clear.push_back(
                    {text_of("answer en what is ", direction.words, " the ", asked.name, "?"), answer->name});
        }
    if (clear.empty()) return std::nullopt;
    return clear[static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(clear.size())))];
}

SceneQuestion ask_count(std::span<const SceneObject> objects, const std::string& name) {
    const auto count = std::count_if(objects.begin(), objects.end(), [&](const SceneObject& object) {
        return object.kind != SceneObject::Kind::Text && (object.name == name || object.group == name);
    });
    return {text_of("answer en how many ", plural_of(name), " are there?"), std::to_string(count)};
}

std::int64_t location_of(std::int64_t pixel, std::int64_t size) {
    const std::int64_t nearest = (pixel * 2 * data::locations_per_side + size) / (2 * size);
    return std::clamp<std::int64_t>(nearest, 0, data::locations_per_side - 1);
}

SceneQuestion ask_detect(std::span<const SceneObject> objects, std::span<const std::string> names, std::int64_t size) {
    SceneQuestion question{.prefix = "detect"};
    for (const std::string& name : names) {
        question.prefix += text_of(name == names.front() ? " " : " ; ", name);
        for (const SceneObject* object : left_to_right(objects))
            if (object->name == name) append_detection(question.suffix, *object, size);
    }
    return question;
}

SceneQuestion ask_detect_all(std::span<const SceneObject> objects, std::int64_t size) {
    SceneQuestion question{.prefix = "detect all"};
    for (const SceneObject* object : left_to_right(objects))
        if (object->kind != SceneObject::Kind::Text) append_detection(question.suffix, *object, size);
    return question;
}

SceneQuestion ask_ocr(std::span<const SceneObject> objects) {
    SceneQuestion question{.prefix = "ocr"};
    for (const SceneObject& object : objects)
        if (object.kind == SceneObject::Kind::Text)
            question.suffix += text_of(question.suffix.empty() ? "" : " ", object.name);
    return question;
}

}  // namespace tessera::scenes
