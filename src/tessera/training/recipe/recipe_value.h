// The value of one key of a recipe, read as what it is to be; what makes no sense is refused with the key's name.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/error.h"
#include "tessera/formats/config.h"

namespace tessera::training {

class RecipeValue {
   public:
    // `key` is dotted: "optimizer.learning_rate".
    RecipeValue(const formats::Config& recipe, const std::string& key)
        : section_(key.find('.') == key.npos ? recipe : recipe.section(key.substr(0, key.find('.')))),
          name_(key.substr(key.find('.') + 1)) {}

    bool is_null() const { return !section_.has(name_); }
    const formats::Json& json() const { return *section_.json().find(name_); }
    std::string text() const { return section_.text(name_); }
    std::vector<std::string> texts() const { return section_.texts(name_); }
    bool boolean() const { return section_.boolean(name_); }
    std::int64_t count() const { return section_.integer(name_); }
    std::int64_t positive() const { return section_.positive(name_); }
    double number() const { return section_.number(name_); }

    static constexpr double unbounded = 1e300;
    double from_zero(double below = unbounded) const;
    double above_zero() const;
    double share() const;  // from 0 to 1
    std::vector<std::pair<std::string, double>> factors() const;

    // The value whose name this is; an error lists the names.
    template <class Value>
    Value choice(std::initializer_list<std::pair<const char*, Value>> choices) const {
        const std::string given = text();
        std::string names;
        for (const auto& [name, value] : choices) {
            if (given == name) return value;
            names += text_of(names.empty() ? "" : ", ", name);
        }
        reject(text_of("expected one of ", names, ", found \"", given, "\""));
    }

    [[noreturn]] void reject(const std::string& reason) const { section_.reject(name_, reason); }

   private:
    formats::Config section_;
    std::string name_;
};

}  // namespace tessera::training
