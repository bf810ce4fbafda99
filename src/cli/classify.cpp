// tessera classify: what pictures show.
#include <algorithm>
#include <cstdio>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "formats/json.h"
#include "inference/picture_classifier.h"

namespace tessera::cli {
namespace {

using inference::LabelScore;

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

formats::Json json_of(const std::string& path, const std::vector<LabelScore>& answer) {
    formats::Json list = formats::Json::array();
    for (const LabelScore& one : answer)
        list.push_back(formats::Json::object()
                           .set("label", one.label)
                           .set("probability", one.probability)
                           .set("score", one.score));
    return formats::Json::object().set("image", path).set("labels", std::move(list));
}

void print(const std::string& path, const std::vector<LabelScore>& answer) {
    std::printf("%s\n", bold(one_line(path)).c_str());
    for (const LabelScore& one : answer)
        std::printf("  %6.2f %%  %s\n", one.probability * 100, one_line(one.label).c_str());
}

}  // namespace

int classify_command(const std::vector<std::string>& arguments) {
    std::string folder, device_name = "cpu";
    std::vector<std::string> paths, more_paths, lists;
    inference::ClassifierOptions options;
    std::int64_t top = 5;
    bool json = false;
    Arguments parser("classify",
                     "Says what pictures show: the classes of a model that was trained on some, or for a model that "
                     "compares pictures with texts, how well each label fits.",
                     "tessera classify DIR --image cat.jpg --labels \"a cat,a dog,two cats\"");
    parser.positional("DIR", folder, "a folder of the Hub's layout");
    parser.optional_positionals("IMAGE", more_paths, "further pictures");
    parser.option("--image", paths, "a PNG, JPEG, WebP or GIF file; may be repeated");
    parser.option("--labels", lists, "labels to choose from, separated by commas; may be repeated");
    parser.option("--template", options.sentence, "the sentence that a label is put into, at {}");
    parser.option("--top", top, "how many labels to show; 0: all");
    parser.device(device_name);
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    paths.insert(paths.end(), more_paths.begin(), more_paths.end());
    if (paths.empty()) {
        std::fprintf(stderr, "tessera classify: --image is missing; see tessera classify --help\n");
        return 2;
    }
    check(top >= 0, "--top: expected 0 or more, found ", top);
    options.labels = labels_of(lists);
    options.device = device_named(device_name);

    const inference::PictureClassifier classifier(folder, options);
    formats::Json out = formats::Json::array();
    for (const std::string& path : paths) {
        const formats::Image picture = formats::read_image(path);
        std::vector<LabelScore> answer = classifier.classify({&picture, 1})[0];
        if (top > 0 && static_cast<std::size_t>(top) < answer.size()) answer.resize(static_cast<std::size_t>(top));
        json ? static_cast<void>(out.push_back(json_of(path, answer))) : print(path, answer);
    }
    if (json) std::printf("%s\n", out.dump().c_str());
    return 0;
}

}  // namespace tessera::cli
