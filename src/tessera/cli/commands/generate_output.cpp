// What `tessera generate` prints when all is said.
#include <algorithm>
#include <cstdio>
#include <string_view>

#include "tessera/cli/commands/generate_request.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/cli/terminal/terminal_text.h"

namespace tessera::cli {
namespace {

using formats::Json;
using inference::TextModel;

Json to_json(const std::vector<std::int64_t>& ids) {
    Json list = Json::array();
    for (const std::int64_t id : ids) list.push_back(id);
    return list;
}

void print_log_probabilities(const Answer& answer) {
    for (const Json& token : answer.log_probabilities.items()) {
        const auto show = [](const Json& one) {
            char number[32];
            std::snprintf(number, sizeof number, " %.4f", one.find("logprob")->as_number());
            const Json* text = one.find("token");
            return text_of(one.find("id")->as_integer(), text ? text_of(" '", one_line(text->as_string()), "'") : "",
                           number);
        };
        std::string others;
        for (const Json& other : token.find("top")->items()) others += text_of("\t", show(other));
        std::printf("%s%s\n", show(token).c_str(), faint(others).c_str());
    }
}

}  // namespace

void tell_of_context(const GenerateRequest& request, const TextModel& model, const Answers& answers) {
    if (answers.forgotten > 0)
        std::fprintf(stderr, "went on past %s: %s older tokens were forgotten\n", request.context.name(model).c_str(),
                     with_separators(answers.forgotten).c_str());
    const auto stopped = std::count_if(answers.rows.begin(), answers.rows.end(), [](const Answer& answer) {
        return answer.ending == std::string_view("context");
    });
    if (stopped == 0) return;
    const std::string which = answers.rows.size() > 1 ? text_of(stopped, " of ", answers.rows.size(), " texts ") : "";
    std::fprintf(stderr, "%sstopped at %s%s\n", which.c_str(), request.context.name(model).c_str(),
                 answers.can_shift ? "; --context-shift goes on" : "");
}

void print_json(const GenerateRequest& request, const TextModel& model, const inference::GenerationSettings& settings,
                const Answers& answers, const std::vector<formats::Image>& images) {
    Json rows = Json::array(), texts = Json::array();
    for (const Answer& answer : answers.rows) {
        rows.push_back(to_json(answer.tokens));
        Json one = Json::object();
        if (model.tokenizer) one.set("text", answer.text);
        // finish_reason knows stop and length alone, wherever it is read.
        one.set("finish_reason", answer.ending == std::string_view("stop") ? "stop" : "length");
        one.set("ending", answer.ending);
        if (settings.beams.count > 1) one.set("score", answer.score);
        if (request.log_probabilities) one.set("logprobs", answer.log_probabilities);
        if (!images.empty()) one.set("detections", data::to_json(answer.detections, images[0].width, images[0].height));
        texts.push_back(std::move(one));
    }
    Json out = Json::object();
    out.set("tokens", std::move(rows)).set("answers", std::move(texts));
    if (!settings.sampler.is_greedy()) out.set("seed", settings.sampler.seed);
    out.set("prompt_tokens", answers.speed.prompt_tokens)
        .set("prefill_seconds", answers.speed.prefill_seconds)
        .set("first_token_seconds", answers.speed.first_token_seconds)
        .set("decode_seconds", answers.speed.decode_seconds)
        .set("steps", answers.steps)
        .set("forgotten_tokens", answers.forgotten)
        .set("cache_bytes", answers.cache_bytes);
    std::printf("%s\n", json_for_terminal(out.dump()).c_str());
}

void print_text(const GenerateRequest& request, const TextModel& model, const Answers& answers, bool streamed) {
    const bool several = answers.rows.size() > 1;
    for (std::size_t row = 0; row < answers.rows.size(); ++row) {
        const Answer& answer = answers.rows[row];
        if (!streamed && model.tokenizer) {
            if (several) std::printf("%s\n", bold(text_of("[", row + 1, "]")).c_str());
            const std::string text = for_terminal(answer.text);
            std::fwrite(text.data(), 1, text.size(), stdout);
        } else if (!streamed) {
            for (std::size_t i = 0; i < answer.tokens.size(); ++i)
                std::printf(i == 0 ? "%lld" : ",%lld", static_cast<long long>(answer.tokens[i]));
        }
        std::printf("\n");
        if (request.log_probabilities) print_log_probabilities(answer);
    }
}

}  // namespace tessera::cli
