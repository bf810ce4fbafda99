#include "tessera/data/image_texts.h"

#include "tessera/core/error.h"
#include "tessera/formats/json.h"

namespace tessera::data {

ImageTexts::ImageTexts(const std::vector<std::filesystem::path>& files, std::vector<std::string> fields)
    : lines_(files), fields_(std::move(fields)) {
    for (std::int64_t i = 0; i < size(); ++i) {
        const Example example = at(i);
        std::error_code error;
        check(std::filesystem::is_regular_file(example.image, error), where(i),
              ": image: no such file: ", example.image.string());
    }
}

ImageTexts::Example ImageTexts::at(std::int64_t index) const {
    const formats::Json line = formats::Json::parse(lines_.text(index), where(index));
    check(line.is_object(), where(index), ": expected an object, found ", line);
    const auto text = [&](const std::string& name) {
        const formats::Json* found = line.find(name);
        check(found && found->is_string(), where(index), ": no text under \"", name, "\"");
        return found->as_string();
    };
    Example example{.image = lines_.file(index).parent_path() / text("image"), .texts = {}};
    for (const std::string& field : fields_) example.texts.push_back(text(field));
    return example;
}

std::vector<std::filesystem::path> ImageTexts::images() const {
    std::vector<std::filesystem::path> all;
    for (std::int64_t i = 0; i < size(); ++i) all.push_back(at(i).image);
    return all;
}

}  // namespace tessera::data
