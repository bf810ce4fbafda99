// Runs side by side as a Markdown table, which reads well in a terminal too, and as JSON.
#pragma once

#include <string>
#include <vector>

#include "tessera/evaluation/run_comparison.h"
#include "tessera/formats/json.h"

namespace tessera::cli {

// Columns in which no run has a value are left out. `unit`: what training counts, "tokens" or "units".
std::string markdown_of(const std::vector<evaluation::RunStats>& runs, const std::string& unit);
formats::Json to_json(const std::vector<evaluation::RunStats>& runs);

}  // namespace tessera::cli
