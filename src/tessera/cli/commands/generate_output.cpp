#include "tessera/cli/commands/generate_output.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "tessera/cli/terminal/output.h"
#include "tessera/cli/terminal/terminal.h"

namespace tessera::cli {
namespace {

using formats::Json;
using inference::GeneratedText;
using inference::TokenProbability;

void write(const std::string& text) {
    if (text.empty()) return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    check_output();
}

// As it reads within a text: alone, a token may lose the space before it.
std::optional<std::string> token_text(const models::OpenedModel& model, std::int64_t id) {
    if (!model.tokenizer || id >= model.tokenizer->size()) return std::nullopt;
    const std::int64_t twice[] = {id, id};
    const std::string alone = model.tokenizer->decode(std::span(twice).first(1));
    const std::string both = model.tokenizer->decode(twice);
    return both.starts_with(alone) ? both.substr(alone.size()) : alone;
}

Json to_json(const models::OpenedModel& model, const TokenProbability& token) {
    Json out = Json::object().set("id", token.id);
    if (const auto text = token_text(model, token.id)) out.set("token", *text);
    return out.set("logprob", token.log_probability);
}

Json to_json(const models::OpenedModel& model, const std::vector<inference::TokenLogProbabilities>& tokens) {
    Json list = Json::array();
    for (const inference::TokenLogProbabilities& token : tokens) {
        Json most = Json::array();
        for (const TokenProbability& other : token.most) most.push_back(to_json(model, other));
        list.push_back(to_json(model, TokenProbability{token.id, token.log_probability}).set("top", std::move(most)));
    }
    return list;
}

void print_log_probabilities(const models::OpenedModel& model, const GeneratedText& answer) {
    const auto show = [&](std::int64_t id, double log_probability) {
        const auto text = token_text(model, id);
        return fmt::format("{}{} {:.4f}", id, text ? fmt::format(" '{}'", one_line(*text)) : "", log_probability);
    };
    for (const inference::TokenLogProbabilities& token : answer.log_probabilities) {
        std::string others;
        for (const TokenProbability& other : token.most) others += text_of("\t", show(other.id, other.log_probability));
        std::printf("%s%s\n", show(token.id, token.log_probability).c_str(), faint(others).c_str());
    }
}

std::vector<data::Detection> detections_in(const models::OpenedModel& model, const GeneratedText& answer) {
    return data::read_detections(model.text().decode(answer.tokens));
}

}  // namespace

void TextPrinter::add(const inference::TextPiece& piece) {
    if (has_text_)
        write(shown_.add(std::string(piece.text)));
    else if (piece.id)
        write(text_of(std::exchange(first_, false) ? "" : ",", *piece.id));
}

void TextPrinter::finish() { write(shown_.finish()); }

Json GenerateOutput::to_json() const {
    Json rows = Json::array(), texts = Json::array();
    for (const GeneratedText& answer : result.texts) {
        Json ids = Json::array();
        for (const std::int64_t id : answer.tokens) ids.push_back(id);
        rows.push_back(std::move(ids));
        Json one = Json::object();
        if (model.tokenizer) one.set("text", answer.text);
        // finish_reason knows stop and length alone, wherever it is read.
        const std::string ending = name_of(answer.ending);
        one.set("finish_reason", ending == "stop" ? "stop" : "length").set("ending", ending);
        if (settings.beams.count > 1) one.set("score", answer.score);
        if (has_log_probabilities) one.set("logprobs", cli::to_json(model, answer.log_probabilities));
        if (!images.empty())
            one.set("detections", data::to_json(detections_in(model, answer), images[0].width, images[0].height));
        texts.push_back(std::move(one));
    }
    Json out = Json::object();
    out.set("tokens", std::move(rows)).set("answers", std::move(texts));
    if (!settings.sampler.is_greedy()) out.set("seed", settings.sampler.seed);
    out.set("prompt_tokens", result.timings.prompt_tokens)
        .set("prefill_seconds", result.timings.prefill_seconds)
        .set("first_token_seconds", result.timings.first_token_seconds)
        .set("decode_seconds", result.timings.decode_seconds)
        .set("steps", result.timings.steps)
        .set("forgotten_tokens", result.forgotten)
        .set("cache_bytes", result.cache_bytes);
    return out;
}

void GenerateOutput::print_text() const {
    for (std::size_t row = 0; row < result.texts.size(); ++row) {
        const GeneratedText& answer = result.texts[row];
        if (result.texts.size() > 1) {
            if (model.tokenizer) std::printf("%s\n", bold(text_of("[", row + 1, "]")).c_str());
            std::string text = model.tokenizer ? for_terminal(answer.text) : "";
            for (std::size_t i = 0; !model.tokenizer && i < answer.tokens.size(); ++i)
                text += text_of(i == 0 ? "" : ",", answer.tokens[i]);
            std::fwrite(text.data(), 1, text.size(), stdout);
        }
        std::printf("\n");
        if (has_log_probabilities) print_log_probabilities(model, answer);
    }
    std::fflush(stdout);
}

std::vector<data::Detection> GenerateOutput::detections() const {
    std::vector<data::Detection> all;
    for (const GeneratedText& answer : result.texts)
        for (const data::Detection& one : detections_in(model, answer)) all.push_back(one);
    return all;
}

}  // namespace tessera::cli
