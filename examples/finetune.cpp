// Goes on training a checkpoint with a text file and writes a folder that can be opened: finetune DIR TEXT OUT [STEPS]
#include <tessera/tessera.h>

#include <cstdlib>
#include <iostream>

using namespace tessera;

static void finetune(const std::string& model, const std::string& text, const std::string& out, std::int64_t steps) {
    // A recipe names everything that a run depends on; `tessera train --keys` lists what it may say.
    auto recipe = formats::Json::object();
    recipe.set("model", model)
        .set("objective", "causal")
        .set("data", formats::Json::object().set("train", formats::Json::array().push_back(text)).set("length", 32))
        .set("batch", 8)
        .set("steps", steps)
        .set("optimizer", formats::Json::object().set("learning_rate", 3e-3));

    training::SessionEvents events;
    events.on_step = [&](const training::StepReport& report, const char*) {
        if (report.step % 50 == 0 || report.step == steps)
            std::cout << "step " << report.step << ": loss " << report.loss << std::endl;
    };
    training::run_session(training::read_recipe(training::resolve_recipe(recipe, {}, "finetune")),
                          {.folder = out, .overwrite = true}, events);
}

int main(int count, char** arguments) {
    if (count < 4 || count > 5) {
        std::cerr << "usage: finetune DIR TEXT OUT [STEPS]\n";
        return 2;
    }
    try {
        finetune(arguments[1], arguments[2], arguments[3], count == 5 ? std::atoll(arguments[4]) : 1000);
    } catch (const Error& error) {
        std::cerr << "finetune: " << error.what() << "\n";
        return 1;
    }
}
