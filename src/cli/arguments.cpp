#include "cli/arguments.h"

#include "cli/terminal.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <map>

namespace tessera::cli {

struct Arguments::Implementation {
    explicit Implementation(const std::string& summary, const std::string& command)
        : app(summary, "tessera " + command) {}
    CLI::App app;
    std::vector<std::vector<std::string>*> lists;
    std::vector<std::string*> texts;
};

namespace {

// CLI11 takes "[a, b]" in a list of texts for a list of its own; behind this it is a text.
constexpr char as_it_is = '\x01';

bool looks_like_a_list(const std::string& text) { return text.size() > 1 && text.front() == '[' && text.back() == ']'; }

}  // namespace

Arguments::Arguments(const std::string& command, const std::string& summary, const std::string& example)
    : implementation_(std::make_unique<Implementation>(summary, command)) {
    implementation_->app.footer("Example:\n  " + example);
}

Arguments::~Arguments() = default;

void Arguments::positional(const std::string& name, std::string& value, const std::string& help) {
    implementation_->app.add_option(name, value, help)->required();
    implementation_->texts.push_back(&value);
}

void Arguments::optional_positional(const std::string& name, std::string& value, const std::string& help) {
    implementation_->app.add_option(name, value, help);
    implementation_->texts.push_back(&value);
}

void Arguments::positionals(const std::string& name, std::vector<std::string>& values, const std::string& help) {
    implementation_->app.add_option(name, values, help)->required();
    implementation_->lists.push_back(&values);
}

void Arguments::optional_positionals(const std::string& name, std::vector<std::string>& values,
                                     const std::string& help) {
    implementation_->app.add_option(name, values, help);
    implementation_->lists.push_back(&values);
}

void Arguments::option(const std::string& name, std::string& value, const std::string& help) {
    implementation_->app.add_option(name, value, help)->capture_default_str();
    implementation_->texts.push_back(&value);
}

void Arguments::option(const std::string& name, std::int64_t& value, const std::string& help) {
    implementation_->app.add_option(name, value, help)->capture_default_str();
}

void Arguments::option(const std::string& name, std::optional<std::int64_t>& value, const std::string& help) {
    implementation_->app.add_option(name, value, help);
}

void Arguments::option(const std::string& name, std::optional<double>& value, const std::string& help) {
    implementation_->app.add_option(name, value, help);
}

void Arguments::option(const std::string& name, std::vector<std::string>& values, const std::string& help) {
    implementation_->app.add_option(name, values, help)->take_all()->allow_extra_args(false);
    implementation_->lists.push_back(&values);
}

void Arguments::flag(const std::string& name, bool& value, const std::string& help) {
    implementation_->app.add_flag(name, value, help);
}

void Arguments::device(std::string& value) { option("--device", value, "cpu or cuda"); }
void Arguments::json(bool& value) { flag("--json", value, "print JSON, for scripts"); }

std::optional<int> Arguments::parse(const std::vector<std::string>& arguments) {
    try {
        // CLI11 takes the last argument first.
        std::vector<std::string> given(arguments.rbegin(), arguments.rend());
        for (std::string& argument : given)
            if (looks_like_a_list(argument)) argument.insert(0, 1, as_it_is);
        implementation_->app.parse(std::move(given));
        for (std::vector<std::string>* list : implementation_->lists)
            for (std::string& value : *list) implementation_->texts.push_back(&value);
        for (std::string* value : implementation_->texts)
            if (!value->empty() && value->front() == as_it_is) value->erase(0, 1);
        return std::nullopt;
    } catch (const CLI::CallForHelp&) {
        std::fputs(implementation_->app.help().c_str(), stdout);
        return 0;
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "%s: %s; see %s --help\n", implementation_->app.get_name().c_str(),
                     one_line(error.what()).c_str(), implementation_->app.get_name().c_str());
        return 2;
    }
}

Device device_named(const std::string& name) {
    check(name == "cpu" || name == "cuda", "--device: '", name, "' is neither cpu nor cuda");
    const Device device = name == "cuda" ? cuda : cpu;
    check(find_driver(device.kind) != nullptr, "--device ", name, ": this program was built without it");
    check(available(device.kind), "--device ", name, ": no such device on this machine");
    return device;
}

std::int64_t bytes_named(const std::string& text, const char* option) {
    static const std::map<std::string, double> units{{"", 1},         {"B", 1},        {"KB", 1e3},
                                                     {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},
                                                     {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}};
    std::size_t used = 0;
    double number = 0;
    try {
        number = std::stod(text, &used);
    } catch (const std::exception&) {
        used = 0;
    }
    const auto unit = units.find(text.substr(used));
    check(used > 0 && unit != units.end() && number > 0 && number * unit->second < 0x1p62, option, ": '", text,
          "' is no size such as 5GB or 500MB");
    return static_cast<std::int64_t>(number * unit->second);
}

}  // namespace tessera::cli
