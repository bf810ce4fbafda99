// A command's arguments: declared with their help, checked, and explained by --help with an example.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/core/device.h"

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
    // The first positional, a model, which may be given as -m MODEL too, wherever that stands.
    void model(const std::string& name, std::string& value, const std::string& help);
    void optional_model(const std::string& name, std::string& value, const std::string& help);
    // Positional texts, which may be given by -p TEXT too, and files of them by -f FILE.
    void texts(const std::string& name, std::vector<std::string>& values, std::vector<std::string>& files,
               const std::string& help, const std::string& file_help);

    // `names`: "-n,--max-new,--max-tokens": the first of either kind is shown, others are listed as "also …".
    void option(const std::string& names, std::string& value, const std::string& help);
    void option(const std::string& names, std::int64_t& value, const std::string& help);
    void option(const std::string& names, std::optional<std::int64_t>& value, const std::string& help);
    void option(const std::string& names, std::optional<double>& value, const std::string& help);
    void option(const std::string& names, std::vector<std::string>& values,
                const std::string& help);  // may be repeated
    void flag(const std::string& names, bool& value, const std::string& help);
    void threads();                   // -t, --threads
    void device(std::string& value);  // --device cpu|cuda, and --threads
    void json(bool& value);           // --json
    void overwrite(bool& value);      // --overwrite, of a single file that is written

    // Nothing when the command should run; otherwise the status to exit with: 0 after --help, 2 after wrong usage.
    std::optional<int> parse(const std::vector<std::string>& arguments);
    // Wrong usage that the command itself found: says so and gives the status to exit with.
    int refuse(const std::string& reason) const;

   private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

// Throws where this program or machine has none; `source` is what named it.
Device parse_device(const std::string& name, const char* source = "--device");
// "5GB", "500MB", "1.5GiB", "1048576".
std::int64_t bytes_named(const std::string& text, const char* option);

}  // namespace tessera::cli
