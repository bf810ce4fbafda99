// The arguments of a function of the language, by position or by name.
#pragma once

#include <initializer_list>

#include "tessera/jinja/value.h"

namespace tessera::jinja {

class BoundArguments {
   public:
    // Throws where one is missing, given twice, too much or unknown. The arguments must outlive this.
    BoundArguments(const Arguments& arguments, std::string_view function, std::initializer_list<std::string_view> names,
                   std::size_t required = 0);

    const Value* find(std::size_t i) const { return values_[i]; }  // null where not given
    Value value(std::size_t i, Value fallback = None{}) const { return values_[i] ? *values_[i] : fallback; }
    bool is_given(std::size_t i) const { return values_[i] && !values_[i]->is_none(); }
    std::int64_t whole(std::size_t i, std::int64_t fallback) const;
    std::string_view text(std::size_t i, std::string_view fallback = {}) const;
    bool truth(std::size_t i, bool fallback) const { return values_[i] ? values_[i]->truth() : fallback; }

   private:
    std::string_view function_;
    std::vector<std::string_view> names_;
    std::vector<const Value*> values_;
};

}  // namespace tessera::jinja
