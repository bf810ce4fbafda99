#include "tessera/cli/arguments/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "tessera/cli/arguments/help_page.h"
#include "tessera/cli/arguments/suggestion.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/core/parallel.h"

namespace tessera::cli {
namespace {

using Texts = std::vector<std::string>;

// CLI11 takes "[a, b]" for a list of its own; behind this it is a text.
constexpr char as_it_is = '\x01';

bool looks_like_a_list(const std::string& text) { return text.size() > 1 && text.front() == '[' && text.back() == ']'; }

std::string unmarked(const std::string& text) {
    return !text.empty() && text.front() == as_it_is ? text.substr(1) : text;
}

// A number that the whole text stands for.
template <class Number>
Number number_named(const std::string& option, const char* wanted, const std::string& given) {
    const std::string text = unmarked(given);
    const char* begin = text.data() + (text.size() > 1 && text[0] == '+' && text[1] != '-' ? 1 : 0);
    const char* end = text.data() + text.size();
    Number value{};
    const auto [rest, error] = std::from_chars(begin, end, value);
    if (error == std::errc::result_out_of_range && rest == end)
        throw CLI::ConversionError(text_of(option, ": '", text, "' is beyond what a number can hold"));
    // "nan" and "inf" are read as well.
    if (error != std::errc() || rest != end || !std::isfinite(static_cast<double>(value)))
        throw CLI::ConversionError(text_of(option, ": expected ", wanted, ", found '", text, "'"));
    return value;
}

auto all_into(Texts& values) {
    return [&values](const Texts& all) {
        values.clear();
        for (const std::string& text : all) values.push_back(unmarked(text));
    };
}

std::string joined(const Texts& names) {
    std::string text;
    for (const std::string& name : names) text += text_of(text.empty() ? "" : ", ", name);
    return text;
}

// "-f,--file FILE": the names of an option, those to be shown and those that are understood too, and what its value is
// called on the page.
struct Names {
    explicit Names(const std::string& text) : list(text.substr(0, text.find(' '))) {
        if (list.size() < text.size()) value = text.substr(list.size() + 1);
        for (const std::string& name : CLI::detail::split(list, ',')) {
            std::string& first = name.starts_with("--") ? long_name : short_name;
            if (first.empty())
                first = name;
            else
                others.push_back(name);
        }
    }
    std::string shown(const std::string& usual_value) const {
        const std::string both = short_name + (short_name.empty() || long_name.empty() ? "" : ", ") + long_name;
        return both + (usual_value.empty() ? "" : " " + (value.empty() ? usual_value : value));
    }
    const std::string& main() const { return long_name.empty() ? short_name : long_name; }

    std::string list, value, short_name, long_name;
    Texts others;
};

}  // namespace

struct Arguments::Implementation {
    Implementation(const std::string& command, const std::string& summary, const std::string& example)
        : app(summary, "tessera " + command), page{.command = command, .summary = summary, .example = example} {
        app.set_help_flag();  // asked for below, with a page of our own
        app.add_flag("-h,--help", help_wanted);
    }

    // How a positional stands in the usage and on the page.
    void describe(const std::string& name, bool required, bool several, const std::string& help) {
        const std::string shown = several ? name + "…" : name;
        page.usage.push_back(required ? shown : "[" + shown + "]");
        page.positionals.push_back({.names = name, .help = help, .fallback = {}, .other_names = {}});
    }

    void add_positional(const std::string& name, std::string& value, bool required, const std::string& help) {
        app.add_option_function<std::string>(name, [&value](const std::string& text) { value = unmarked(text); })
            ->required(required);
        describe(name, required, false, help);
    }

    void add_positionals(const std::string& name, Texts& values, bool required, const std::string& help) {
        app.add_option_function<Texts>(name, all_into(values))->required(required);
        describe(name, required, true, help);
    }

    void add_option(const std::string& list, const char* placeholder, const std::string& help,
                    const std::string& fallback, const std::function<void(const std::string&)>& take) {
        const Names names(list);
        app.add_option_function<std::string>(names.list, take);
        page.options.push_back({names.shown(placeholder), help, fallback, joined(names.others)});
    }

    bool is_option(const std::string& name) const { return app.get_option_no_throw(name) != nullptr; }

    bool takes_a_value(const std::string& name) const {
        const CLI::Option* option = app.get_option_no_throw(name);
        return option != nullptr && option->get_items_expected_max() > 0;
    }

    // What CLI11 is given: options are written with dashes where people type underscores, and the model that -m names
    // comes first, as one without -m does.
    Texts prepared(const Texts& arguments) const {
        Texts out, models;
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            std::string word = arguments[i];
            if (word == "--") {
                out.insert(out.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
                break;
            }
            const std::size_t equals = word.starts_with("--") ? std::min(word.find('='), word.size()) : word.size();
            std::string name = word.substr(0, equals);
            if (name.starts_with("--") && !is_option(name)) std::replace(name.begin(), name.end(), '_', '-');
            if (takes_model && word.size() > 2 && word.starts_with("-m")) {  // -mMODEL
                models.push_back(word.substr(2));
                continue;
            }
            const bool is_model = takes_model && (name == "-m" || name == "--model");
            if (!is_model && (!name.starts_with('-') || !is_option(name))) {
                out.push_back(looks_like_a_list(word) ? as_it_is + word : word);
                continue;
            }
            word = name + word.substr(equals);
            const bool value_follows = equals == arguments[i].size() && (is_model || takes_a_value(name));
            // CLI11 would take it for a yes, whatever it says.
            if (!is_model && equals < arguments[i].size() && !takes_a_value(name))
                throw CLI::ConversionError(
                    text_of(name, ": takes no value, found '", arguments[i].substr(equals + 1), "'"));
            if (!is_model) out.push_back(word);
            if (is_model && !value_follows) models.push_back(word.substr(equals + 1));
            if (!value_follows) continue;
            if (++i == arguments.size()) {
                if (is_model) throw CLI::ArgumentMismatch(text_of(name, ": the value is missing"));
                break;
            }
            if (is_model)
                models.push_back(arguments[i]);
            else
                out.push_back(looks_like_a_list(arguments[i]) ? as_it_is + arguments[i] : arguments[i]);
        }
        // A dash in front would make an option of it.
        for (std::string& model : models)
            if (model.starts_with('-')) model.insert(0, "./");
        out.insert(out.begin(), models.begin(), models.end());
        return out;
    }

    // What is wrong, in our words where CLI11's are about its own.
    std::string reason(const CLI::ParseError& error) const {
        for (const std::string& word : app.remaining())
            if (word.size() > 1 && word.front() == '-' && word != "--") {
                const std::string name = word.substr(0, word.find('='));
                return text_of("there is no option '", name, "'", suggestion(name, option_names()));
            }
        if (!app.remaining().empty())
            return text_of("'", unmarked(app.remaining().front()), "' is one argument too many");
        for (const CLI::Option* option : app.get_options()) {
            const std::string name = option->get_name();
            if (dynamic_cast<const CLI::RequiredError*>(&error) && option->get_required() && option->count() == 0)
                return text_of(name, " is missing");
            if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) && std::string(error.what()).find(name) == 0)
                return option->count() > 1 ? text_of(name, " is given twice") : text_of(name, ": the value is missing");
        }
        return error.what();
    }

    Texts option_names() const {
        Texts names;
        for (const CLI::Option* option : app.get_options()) {
            for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
            for (const std::string& name : option->get_snames()) names.push_back("-" + name);
        }
        if (takes_model) names.push_back("--model");
        return names;
    }

    CLI::App app;
    HelpPage page;
    bool help_wanted = false, takes_model = false;
    std::optional<std::int64_t> threads;
    // Texts that -p gives, put behind those that stand alone; and whether there have to be any.
    Texts prompts;
    Texts* texts = nullptr;
};

Arguments::Arguments(const std::string& command, const std::string& summary, const std::string& example)
    : implementation_(std::make_unique<Implementation>(command, summary, example)) {}

Arguments::~Arguments() = default;

void Arguments::positional(const std::string& name, std::string& value, const std::string& help) {
    implementation_->add_positional(name, value, true, help);
}

void Arguments::optional_positional(const std::string& name, std::string& value, const std::string& help) {
    implementation_->add_positional(name, value, false, help);
}

void Arguments::positionals(const std::string& name, Texts& values, const std::string& help) {
    implementation_->add_positionals(name, values, true, help);
}

void Arguments::optional_positionals(const std::string& name, Texts& values, const std::string& help) {
    implementation_->add_positionals(name, values, false, help);
}

void Arguments::model(const std::string& name, std::string& value, const std::string& help) {
    positional(name, value, help);
    implementation_->takes_model = true;
    implementation_->page.positionals.back().other_names = text_of("-m ", name, ", --model ", name);
}

void Arguments::optional_model(const std::string& name, std::string& value, const std::string& help) {
    optional_positional(name, value, help);
    implementation_->takes_model = true;
    implementation_->page.positionals.back().other_names = text_of("-m ", name, ", --model ", name);
}

void Arguments::texts(const std::string& name, Texts& values, Texts& files, const std::string& help,
                      const std::string& file_help) {
    optional_positionals(name, values, help);
    implementation_->page.positionals.back().other_names = text_of("-p ", name, ", --prompt ", name);
    implementation_->app.add_option_function<Texts>("-p,--prompt", all_into(implementation_->prompts))
        ->take_all()
        ->allow_extra_args(false);
    implementation_->texts = &values;
    option("-f,--file FILE", files, file_help);
}

void Arguments::option(const std::string& names, std::string& value, const std::string& help) {
    implementation_->add_option(names, "TEXT", help, value,
                                [&value](const std::string& text) { value = unmarked(text); });
}

void Arguments::option(const std::string& names, std::int64_t& value, const std::string& help) {
    const std::string main = Names(names).main();
    implementation_->add_option(names, "N", help, std::to_string(value), [&value, main](const std::string& text) {
        value = number_named<std::int64_t>(main, "a whole number", text);
    });
}

void Arguments::option(const std::string& names, std::optional<std::int64_t>& value, const std::string& help) {
    const std::string main = Names(names).main();
    implementation_->add_option(
        names, "N", help, value ? std::to_string(*value) : "",
        [&value, main](const std::string& text) { value = number_named<std::int64_t>(main, "a whole number", text); });
}

void Arguments::option(const std::string& names, std::optional<double>& value, const std::string& help) {
    const std::string main = Names(names).main();
    implementation_->add_option(
        names, "X", help, value ? text_of(*value) : "",
        [&value, main](const std::string& text) { value = number_named<double>(main, "a number", text); });
}

void Arguments::option(const std::string& list, Texts& values, const std::string& help) {
    const Names names(list);
    implementation_->app.add_option_function<Texts>(names.list, all_into(values))->take_all()->allow_extra_args(false);
    implementation_->page.options.push_back({names.shown("TEXT"), help, joined(values), joined(names.others)});
}

void Arguments::flag(const std::string& list, bool& value, const std::string& help) {
    const Names names(list);
    implementation_->app.add_flag(list, value);
    implementation_->page.options.push_back({names.shown({}), help, {}, joined(names.others)});
}

void Arguments::threads() {
    option("-t,--threads", implementation_->threads,
           text_of("how many threads compute (default: OMP_NUM_THREADS or one per core, here ", thread_count(), ")"));
}

void Arguments::device(std::string& value) {
    option("--device NAME", value, "cpu or cuda");
    threads();
}

void Arguments::json(bool& value) { flag("--json", value, "print JSON, for scripts"); }

void Arguments::overwrite(bool& value) { flag("--overwrite", value, "replace the file, where it is there already"); }

int Arguments::refuse(const std::string& reason) const {
    const std::string name = implementation_->app.get_name();
    std::fprintf(stderr, "%s: %s; see %s --help\n", name.c_str(), one_line(reason).c_str(), name.c_str());
    return 2;
}

std::optional<int> Arguments::parse(const Texts& arguments) {
    Implementation& own = *implementation_;
    const auto asks = [](const std::string& word) { return word == "-h" || word == "--help"; };
    if (std::any_of(arguments.begin(), std::find(arguments.begin(), arguments.end(), "--"), asks)) {
        own.page.options.push_back({"-h, --help", "this page", {}, {}});
        std::fputs(text_of_page(own.page).c_str(), stdout);
        return 0;
    }
    try {
        Texts given = own.prepared(arguments);
        std::reverse(given.begin(), given.end());  // CLI11 takes the last argument first
        own.app.parse(std::move(given));
    } catch (const CLI::ParseError& error) {
        return refuse(own.reason(error));
    }
    if (own.texts) own.texts->insert(own.texts->end(), own.prompts.begin(), own.prompts.end());
    constexpr std::int64_t most_threads = 512;
    if (own.threads && (*own.threads < 1 || *own.threads > most_threads))
        return refuse(text_of("--threads: expected 1 to ", most_threads, ", found ", *own.threads));
    if (own.threads) set_thread_count(static_cast<int>(*own.threads));
    return std::nullopt;
}

}  // namespace tessera::cli
