// Runs a template over its values.
#pragma once

#include "tessera/formats/json.h"
#include "tessera/jinja/loop.h"
#include "tessera/jinja/runtime.h"
#include "tessera/jinja/syntax.h"

namespace tessera::jinja {

class Interpreter {
   public:
    Interpreter(const Template& source, const formats::Json& values, Runtime& runtime);

    std::string run();

   private:
    enum class Flow : std::uint8_t { On, Break, Continue };

    // Expressions, in evaluate.cpp.
    Value evaluate(const Expression& expression);
    Value evaluate(const ExpressionPointer& expression);  // none where it is missing
    Value node(const Literal& literal, int line);
    Value node(const Variable& variable, int line);
    Value node(const ListDisplay& list, int line);
    Value node(const DictionaryDisplay& dictionary, int line);
    Value node(const Attribute& attribute, int line);
    Value node(const Subscript& subscript, int line);
    Value node(const Slice& slice, int line);
    Value node(const Call& call, int line);
    Value node(const Filtered& filtered, int line);
    Value node(const Tested& tested, int line);
    Value node(const Unary& unary, int line);
    Value node(const Binary& binary, int line);
    Value node(const Comparison& comparison, int line);
    Value node(const Logical& logical, int line);
    Value node(const Conditional& conditional, int line);
    Value node(const Concatenation& concatenation, int line);
    Arguments arguments_of(const CallArguments& arguments);
    Value filtered(const FilterCall& call, const Value& input);
    Value called(const Call& call, Arguments arguments);

    // Statements, in execute.cpp.
    Flow execute(const Body& body);
    Flow node(const Data& data);
    Flow node(const Print& print);
    Flow node(const If& choice);
    Flow node(const For& loop);
    Flow node(const Set& set);
    Flow node(const SetBlock& set);
    Flow node(const Macro& macro);
    Flow node(const CallBlock& block);
    Flow node(const FilterBlock& block);
    Flow node(const With& with);
    Flow node(const Break&) { return Flow::Break; }
    Flow node(const Continue&) { return Flow::Continue; }

    void write(std::string_view text);
    void assign(const Target& target, const Value& value, Scope& scope);
    std::string captured(const Body& body);  // its text, in a scope of its own
    Flow run_loop(const For& loop, const Value& items, std::int64_t depth0);
    bool passes(const For& loop, const Value& item, const std::shared_ptr<Scope>& outer);
    Value make_macro(const std::shared_ptr<const MacroBody>& macro);
    Value run_macro(const MacroBody& macro, const std::shared_ptr<Scope>& scope, const Arguments& arguments);
    void bind_parameters(const MacroBody& macro, const Arguments& arguments);

    const Template& template_;
    const formats::Json& values_;
    Runtime& runtime_;
    std::vector<std::optional<Value>> outside_;  // given values and functions, by the number of their name
    std::shared_ptr<Scope> scope_;
    std::string* output_ = nullptr;
};

}  // namespace tessera::jinja
