// What generate prints: a text as it comes, texts side by side, log-probabilities, JSON.
#pragma once

#include <string>
#include <vector>

#include "tessera/cli/terminal/terminal_text.h"
#include "tessera/data/detections.h"
#include "tessera/formats/json.h"
#include "tessera/inference/generator.h"

namespace tessera::cli {

// Writes a lone prompt's text or ids to standard output as they come.
class TextPrinter {
   public:
    explicit TextPrinter(bool has_text) : has_text_(has_text) {}
    void add(const inference::TextPiece& piece);
    void finish();

   private:
    bool has_text_, first_ = true;
    TerminalText shown_;
};

struct GenerateOutput {
    const models::OpenedModel& model;
    const models::GenerationSettings& settings;
    const inference::GenerationResult& result;
    const std::vector<formats::Image>& images;
    bool has_log_probabilities = false;

    formats::Json to_json() const;
    void print_text() const;  // a lone text stands there already
    // Boxes are words of the answers.
    std::vector<data::Detection> detections() const;
};

}  // namespace tessera::cli
