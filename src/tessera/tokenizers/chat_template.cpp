#include "tessera/tokenizers/chat_template.h"

#include "tessera/core/error.h"
#include "tessera/jinja/brief.h"
#include "tessera/jinja/interpreter.h"
#include "tessera/jinja/parser.h"

namespace tessera::tokenizers {

namespace {

// A template can make its own error as long as it likes.
std::string shortened(std::string_view message) {
    if (message.size() <= jinja::most_message) return std::string(message);
    return std::string(jinja::brief(message, jinja::most_message)) + "…";
}

}  // namespace

struct ChatTemplate::Implementation {
    std::string name;
    jinja::Template parsed;
};

ChatTemplate::ChatTemplate(const std::string& source, const std::string& name) {
    try {
        implementation_ = std::make_unique<Implementation>(Implementation{name, jinja::parse(source)});
    } catch (const Error& error) {
        fail(name, ": ", shortened(error.what()));
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
        fail(implementation_->name, ": line ", runtime.line, ": ", shortened(error.what()));
    }
}

}  // namespace tessera::tokenizers
