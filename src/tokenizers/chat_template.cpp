#include "tokenizers/chat_template.h"

#include "core/error.h"
#include "tokenizers/jinja/interpreter.h"
#include "tokenizers/jinja/parser.h"

namespace tessera::tokenizers {

struct ChatTemplate::Implementation {
    std::string name;
    jinja::Template parsed;
};

ChatTemplate::ChatTemplate(const std::string& source, const std::string& name) {
    try {
        implementation_ = std::make_unique<Implementation>(Implementation{name, jinja::parse(source)});
    } catch (const Error& error) {
        fail(name, ": ", std::string_view(error.what()));
    }
}

ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

std::string ChatTemplate::render(const formats::Json& values, const RenderOptions& options) const {
    check(values.is_object(), implementation_->name, ": the values must be an object, found ", values);
    jinja::Runtime runtime(options.limits, options.now);
    try {
        return jinja::Interpreter(implementation_->parsed, values, runtime).run();
    } catch (const Error& error) {
        fail(implementation_->name, ": line ", runtime.line, ": ", std::string_view(error.what()));
    }
}

}  // namespace tessera::tokenizers
