// tessera scenes score: a model answers what is asked about scenes, and the answers are marked.
#include <cstdio>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/core/parallel.h"
#include "tessera/evaluation/scene_scores.h"
#include "tessera/inference/generator.h"
#include "tessera/scenes/scenes.h"

namespace tessera::cli {
namespace {

// The most probable answers, token by token.
std::vector<std::string> answers_of(const models::OpenedModel& model, const std::vector<scenes::Scene>& scenes) {
    constexpr std::int64_t longest_answer = 96;
    std::vector<formats::Image> images;
    for (const scenes::Scene& scene : scenes) images.push_back(scene.image);
    inference::GenerationRequest request{
        .images = images, .own_image = true, .settings = inference::settings_of(model)};
    for (const scenes::Scene& scene : scenes) request.prompts.push_back({.text = scene.prefix});
    request.settings->max_new_tokens = longest_answer;
    request.settings->sampler.do_sample = false;
    request.settings->beams.count = 1;
    std::vector<std::string> answers;
    for (const inference::GeneratedText& answer : inference::Generator(model).generate(request).texts)
        answers.push_back(answer.text.substr(answer.text.starts_with(' ')));  // which some tokenizers put before a word
    return answers;
}

void print_row(const evaluation::SceneScores& scores, scenes::SceneTask task) {
    const evaluation::SceneScore& score = scores[task];
    if (score.asked == 0) return;
    std::printf("%-10s %7s questions   %5.1f %% exact", scenes::scene_task_names[static_cast<std::size_t>(task)],
                with_separators(score.asked).c_str(), 100 * score.exact_share());
    if (scenes::tells_boxes(task))
        std::printf("   mean IoU %.3f   %.1f %% of the boxes found", score.mean_overlap(), 100 * score.found_share());
    if (task == scenes::SceneTask::Ocr) std::printf("   character error %.1f %%", 100 * score.character_error());
    std::printf("\n");
}

}  // namespace

int scenes_score_command(const std::vector<std::string>& arguments) {
    std::string folder, file, device_name = "cpu";
    std::int64_t count = 1000, batch = 32, shown = 0;
    bool json = false;
    Arguments parser("scenes score",
                     "A model answers what is asked about scenes; exact answers are counted, boxes compared by their\n"
                     "overlap (found: half of it or more), and texts by the characters that are wrong.",
                     "tessera scenes score models/scenes-tiny recipes/scenes/held-out.scenes.json --count 500");
    parser.model("DIR", folder, "a vision-language model's folder");
    parser.positional("FILE", file, "a set of scenes, .scenes.json");
    parser.option("--count", count, "how many scenes, from the first on");
    parser.option("--batch", batch, "scenes answered at once");
    parser.option("--show", shown, "print so many answers with what was expected");
    parser.device(device_name);
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    check(count > 0 && batch > 0 && shown >= 0,
          "scenes score: expected a --count and --batch from 1 and a --show from 0");
    const scenes::Scenes set{std::filesystem::path(file)};
    const models::OpenedModel model = models::open_model(
        folder, {.device = parse_device(device_name), .needs_tokenizer = models::NeedsTokenizer::Yes});
    count = std::min(count, set.size());
    evaluation::SceneScores scores;
    Progress progress("answering", static_cast<double>(count), "scenes");
    for (std::int64_t begin = 0; begin < count; begin += batch) {
        std::vector<scenes::Scene> scenes(static_cast<std::size_t>(std::min(batch, count - begin)));
        parallel_for(static_cast<std::int64_t>(scenes.size()), 1, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i) scenes[static_cast<std::size_t>(i)] = set.at(begin + i);
        });
        const std::vector<std::string> answers = answers_of(model, scenes);
        for (std::size_t i = 0; i < scenes.size(); ++i) {
            scores.add(scenes[i].task, scenes[i].suffix, answers[i]);
            if (shown > 0 && !json) {
                --shown;
                std::printf(
                    "%s → %s%s\n", one_line(scenes[i].prefix).c_str(), one_line(answers[i]).c_str(),
                    answers[i] == scenes[i].suffix ? "" : text_of("   (", one_line(scenes[i].suffix), ")").c_str());
            }
        }
        progress.set(static_cast<double>(begin) + static_cast<double>(scenes.size()));
    }
    if (json) {
        std::printf("%s\n", scores.json().dump().c_str());
        return 0;
    }
    for (std::size_t task = 0; task < scenes::scene_tasks; ++task)
        print_row(scores, static_cast<scenes::SceneTask>(task));
    return 0;
}

}  // namespace tessera::cli
