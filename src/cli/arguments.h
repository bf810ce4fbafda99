// A command's arguments: declared with their help, checked, and explained by --help with an example.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device.h"

namespace tessera::cli {

class Arguments {
   public:
    Arguments(const std::string& command, const std::string& summary, const std::string& example);
    ~Arguments();

    void positional(const std::string& name, std::string& value, const std::string& help);
    void optional_positional(const std::string& name, std::string& value, const std::string& help);
    void positionals(const std::string& name, std::vector<std::string>& values,
                     const std::string& help);  // at least one
    void optional_positionals(const std::string& name, std::vector<std::string>& values, const std::string& help);
    void option(const std::string& name, std::string& value, const std::string& help);
    void option(const std::string& name, std::int64_t& value, const std::string& help);
    void option(const std::string& name, std::optional<std::int64_t>& value, const std::string& help);
    void option(const std::string& name, std::optional<double>& value, const std::string& help);
    void option(const std::string& name, std::vector<std::string>& values, const std::string& help);  // may be repeated
    void flag(const std::string& name, bool& value, const std::string& help);
    void device(std::string& value);  // --device cpu|cuda
    void json(bool& value);           // --json

    // Nothing when the command should run; otherwise the status to exit with: 0 after --help, 2 after wrong usage.
    std::optional<int> parse(const std::vector<std::string>& arguments);

   private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

Device device_named(const std::string& name);  // throws where this program or machine has none
// "5GB", "500MB", "1.5GiB", "1048576".
std::int64_t bytes_named(const std::string& text, const char* option);

}  // namespace tessera::cli
