// tessera classify: what images show, and what kind texts are.
#include <algorithm>
#include <cstdio>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/arguments/input_texts.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/commands/truncation_notice.h"
#include "tessera/cli/terminal/output.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/cli/terminal/terminal_text.h"
#include "tessera/formats/json.h"
#include "tessera/inference/classify.h"
#include "tessera/models/catalog.h"

namespace tessera::cli {
namespace {

using inference::LabelScore;
using inference::LabelScores;

std::vector<std::string> labels_of(const std::vector<std::string>& lists) {
    std::vector<std::string> labels;
    for (const std::string& list : lists) {
        std::size_t begin = 0;
        while (begin <= list.size()) {
            const std::size_t end = std::min(list.find(',', begin), list.size());
            const std::size_t first = list.find_first_not_of(' ', begin);
            check(first < end, "--labels: '", list, "' is no list such as cat,dog,a red car");
            labels.push_back(list.substr(first, list.find_last_not_of(' ', end - 1) + 1 - first));
            begin = end + 1;
        }
    }
    return labels;
}

// What the command was asked, whatever it looks at.
struct Request {
    std::string folder;
    std::vector<std::string> given, files, images;
    inference::ZeroShotLabels zero_shot = {};
    Device device = cpu;
    std::int64_t top = 5;
    bool json = false;
};

// One answer after another: a heading and its labels, or all of them as one list.
class Answers {
   public:
    Answers(const char* kind, const Request& request) : kind_(kind), top_(request.top), json_(request.json) {}

    void add(const std::string& name, LabelScores answer, const inference::ReadText* read = nullptr) {
        if (top_ > 0 && static_cast<std::size_t>(top_) < answer.size()) answer.resize(static_cast<std::size_t>(top_));
        if (!json_) std::printf("%s\n", bold(one_line(name)).c_str());
        formats::Json list = formats::Json::array();
        for (const LabelScore& one : answer) {
            if (!json_) std::printf("  %6.2f %%  %s\n", one.probability * 100, one_line(one.label).c_str());
            list.push_back(formats::Json::object()
                               .set("label", one.label)
                               .set("probability", one.probability)
                               .set("score", one.score));
        }
        formats::Json one = formats::Json::object().set(kind_, name);
        if (read) one.set("tokens", read->tokens).set("truncated", read->is_truncated);
        if (json_) all_.push_back(one.set("labels", std::move(list)));
    }

    void finish() const {
        if (json_) std::printf("%s\n", json_for_terminal(all_.dump()).c_str());
    }

   private:
    const char* kind_;
    std::int64_t top_;
    bool json_;
    formats::Json all_ = formats::Json::array();
};

bool looks_at_images(const std::string& folder) {
    return models::architecture_of(models::config_named(folder)).vision != nullptr;
}

int missing(const char* what) {
    std::fprintf(stderr, "tessera classify: %s is missing; see tessera classify --help\n", what);
    return 2;
}

int classify_images(const Request& request) {
    std::vector<std::string> paths = request.images;
    paths.insert(paths.end(), request.given.begin(), request.given.end());
    if (paths.empty()) return missing("--image");
    const models::OpenedModel model = models::open_model(request.folder, {.device = request.device});
    Answers answers("image", request);
    for (const std::string& path : paths) {
        check_output();
        const formats::Image image = formats::read_image(path);
        try {
            answers.add(path, inference::classify_images(model, {&image, 1}, request.zero_shot)[0]);
        } catch (const Error& error) {
            fail(path, ": ", std::string_view(error.what()));
        }
    }
    answers.finish();
    return 0;
}

int classify_texts(const Request& request) {
    if (request.given.empty() && request.files.empty()) return missing("TEXT");
    check(request.zero_shot.labels.empty(), "--labels: ", request.folder,
          " has classes of its own and takes no labels");
    const models::OpenedModel model = models::open_model(request.folder, {.device = request.device});
    const std::vector<std::string> texts = input_texts(request.given, request.files);
    check(!texts.empty(), "there are no texts: standard input and the files are empty");
    Answers answers("text", request);
    std::vector<inference::ReadText> read;
    constexpr std::size_t batch = 32;
    for (std::size_t begin = 0; begin < texts.size(); begin += batch) {
        check_output();
        const std::vector<std::string> some(
            texts.begin() + static_cast<std::ptrdiff_t>(begin),
            texts.begin() + static_cast<std::ptrdiff_t>(std::min(begin + batch, texts.size())));
        std::vector<inference::ClassifiedText> classified = inference::classify_texts(model, some);
        for (std::size_t i = 0; i < some.size(); ++i) {
            answers.add(some[i], std::move(classified[i].labels), &classified[i].read);
            read.push_back(classified[i].read);
        }
    }
    answers.finish();
    if (!request.json) print_truncation(read);
    return 0;
}

}  // namespace

int classify_command(const std::vector<std::string>& arguments) {
    std::string device_name = "cpu";
    std::vector<std::string> lists;
    Request request;
    Arguments parser("classify",
                     "Says what images show or what kind texts are: the classes of a model that was trained on some, "
                     "or for a model that compares images with texts, how well each label fits.",
                     "tessera classify DIR --image cat.jpg --labels \"a cat,a dog,two cats\"\n"
                     "  tessera classify DIR \"You have won a prize!\"");
    parser.model("DIR", request.folder, "a folder of the Hub's layout");
    parser.texts("INPUT", request.given, request.files,
                 "images, or for a model of texts, texts; -: each line of standard input",
                 "a file of which each line is a text; may be repeated");
    parser.option("--image FILE", request.images, "a PNG, JPEG, WebP or GIF file; may be repeated");
    parser.option("--labels", lists,
                  "labels to choose from, separated by commas; may be repeated (default: the model's classes)");
    parser.option("--template", request.zero_shot.sentence, "the sentence that a label is put into, at {}");
    parser.option("--top", request.top, "how many labels to show; 0: all");
    parser.device(device_name);
    parser.json(request.json);
    if (const auto status = parser.parse(arguments)) return *status;
    check(request.top >= 0, "--top: expected 0 or more, found ", request.top);
    request.zero_shot.labels = labels_of(lists);
    request.device = parse_device(device_name);
    const bool images = !request.images.empty() || looks_at_images(request.folder);
    return images ? classify_images(request) : classify_texts(request);
}

}  // namespace tessera::cli
