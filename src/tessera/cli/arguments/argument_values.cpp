// What the texts of some options stand for: devices and sizes.
#include <charconv>
#include <map>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/core/error.h"

namespace tessera::cli {

Device parse_device(const std::string& name, const char* source) {
    check(name == "cpu" || name == "cuda", source, ": '", name, "' is neither cpu nor cuda");
    const Device device = name == "cuda" ? cuda : cpu;
    check(find_driver(device.kind) != nullptr, source, " ", name, ": this program was built without it");
    check(available(device.kind), source, " ", name, ": no such device on this machine");
    return device;
}

std::int64_t bytes_named(const std::string& text, const char* option) {
    static const std::map<std::string, double> units{{"", 1},         {"B", 1},        {"KB", 1e3},
                                                     {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},
                                                     {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}};
    double number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto unit = units.find(std::string(rest, text.data() + text.size()));
    check(error == std::errc() && unit != units.end() && number > 0 && number * unit->second < 0x1p62, option, ": '",
          text, "' is no size such as 5GB or 500MB");
    return static_cast<std::int64_t>(number * unit->second);
}

}  // namespace tessera::cli
