// tessera parity: what we compute beside what a reference computed.
#include "tessera/parity/parity.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/cli/terminal/terminal_text.h"
#include "tessera/formats/json.h"

namespace tessera::cli {
namespace {

const parity::Quantity* worst(const parity::Outcome& outcome) {
    const parity::Quantity* found = nullptr;
    const auto badness = [](const parity::Quantity& one) {
        return std::isnan(one.error) ? INFINITY : one.error / (one.tolerance > 0 ? one.tolerance : 1e-300);
    };
    for (const parity::Quantity& one : outcome.quantities)
        if (!found || badness(one) > badness(*found)) found = &one;
    return found;
}

void print_quantity(const parity::Quantity& one) {
    const std::string verdict = one.passed() ? green("pass") : red("FAIL");
    if (one.tolerance == 0)
        std::printf("  %-60s %3.0f differ   %s  %s\n", one_line(one.name).c_str(), one.error, verdict.c_str(),
                    faint(one_line(one.note)).c_str());
    else
        std::printf("  %-60s %.2e   %s  %s\n", one_line(one.name).c_str(), one.error, verdict.c_str(),
                    faint(one_line(one.note)).c_str());
}

void print_outcome(const parity::Outcome& outcome, bool all) {
    const std::string name = outcome.folder.filename().empty() ? outcome.folder.parent_path().filename().string()
                                                               : outcome.folder.filename().string();
    const std::string verdict = outcome.passed() ? green("pass") : red("FAIL");
    const parity::Quantity* largest = worst(outcome);
    fmt::print("{}  {}  {}, {} {}", verdict, bold(one_line(name)), one_line(outcome.kind), outcome.quantities.size(),
               outcome.quantities.size() == 1 ? "quantity" : "quantities");
    if (largest) std::printf(", nearest its limit: %s %.1e", one_line(largest->name).c_str(), largest->error);
    std::printf(" %s\n", faint(text_of("(", std::lround(outcome.seconds * 1000), " ms)")).c_str());
    if (!outcome.failure.empty()) std::printf("  %s\n", one_line(outcome.failure).c_str());
    for (const parity::Quantity& one : outcome.quantities)
        if (all || !one.passed()) print_quantity(one);
}

formats::Json to_json(const parity::Outcome& outcome) {
    formats::Json quantities = formats::Json::array();
    for (const parity::Quantity& one : outcome.quantities) {
        formats::Json entry = formats::Json::object();
        entry.set("name", one.name);
        entry.set("error", std::isfinite(one.error) ? formats::Json(one.error) : formats::Json());
        entry.set("tolerance", one.tolerance).set("pass", one.passed());
        if (!one.note.empty()) entry.set("note", one.note);
        quantities.push_back(std::move(entry));
    }
    formats::Json out = formats::Json::object();
    out.set("folder", outcome.folder.string()).set("kind", outcome.kind).set("pass", outcome.passed());
    if (!outcome.failure.empty()) out.set("failure", outcome.failure);
    out.set("seconds", outcome.seconds).set("quantities", std::move(quantities));
    return out;
}

}  // namespace

int parity_command(const std::vector<std::string>& arguments) {
    std::vector<std::string> folders;
    std::string device_name = "cpu";
    bool json = false, all = false;
    Arguments parser(
        "parity",
        "Computes every quantity of reference cases (logits, hidden states, loss, gradients, greedy tokens,\n"
        "optimizer steps, training curves, images) and prints the relative error of each. A case is a folder with\n"
        "expected.safetensors; a folder of cases stands for all of them. Exits with 1 if anything fails.\n"
        "tools/reference.py makes cases from models of your own.",
        "tessera parity tests/goldens");
    parser.positionals("DIR", folders, "cases, or folders of cases");
    parser.device(device_name);
    parser.flag("--all", all, "print every quantity, not only those that fail");
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;

    const Device device = parse_device(device_name);
    std::vector<std::filesystem::path> cases;
    for (const std::string& folder : folders)
        for (const auto& one : parity::cases_in(folder)) cases.push_back(one);
    formats::Json results = formats::Json::array();
    std::size_t failed = 0;
    for (const auto& folder : cases) {
        const parity::Outcome outcome = parity::check_case(folder, device);
        failed += !outcome.passed();
        json ? static_cast<void>(results.push_back(to_json(outcome)))
             : print_outcome(outcome, all || cases.size() == 1);
    }
    if (json)
        fmt::print("{}\n", json_for_terminal(results.dump()));
    else if (cases.size() > 1)
        std::printf("%zu of %zu cases pass\n", cases.size() - failed, cases.size());
    return failed == 0 ? 0 : 1;
}

}  // namespace tessera::cli
