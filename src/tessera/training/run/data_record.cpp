#include "tessera/training/run/data_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "tessera/core/error.h"
#include "tessera/core/mapped_file.h"
#include "tessera/formats/find_file.h"

namespace tessera::training {
namespace {

namespace fs = std::filesystem;
using formats::Json;

const std::set<std::string> text_endings = {".txt", ".text", ".md", ".jsonl", ".ndjson", ".tsv"},
                            image_endings = {".png", ".jpg", ".jpeg", ".webp", ".gif"};

std::string ending_of(const fs::path& file) {
    std::string ending = file.extension().string();
    for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return ending;
}

// Not made to withstand an attacker, but any mistake.
class ContentHash {
   public:
    void add(std::string_view bytes) {
        add(bytes.size());
        for (; bytes.size() >= sizeof(std::uint64_t); bytes.remove_prefix(sizeof(std::uint64_t))) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes.data(), sizeof word);
            add(word);
        }
        std::uint64_t rest = 0;
        std::memcpy(&rest, bytes.data(), bytes.size());
        add(rest);
    }
    void add(std::uint64_t word) {
        __extension__ using Wide = unsigned __int128;
        const Wide product = static_cast<Wide>(value_ ^ word) * 0xD6E8FEB86659FD93u;
        value_ = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64) ^ std::rotl(word, 23);
    }
    std::string text() const { return fmt::format("{:016x}", value_); }

   private:
    std::uint64_t value_ = 0x9E3779B97F4A7C15u;
};

struct Source {
    std::string path;  // as the recipe has it
    std::vector<fs::path> files = {};
};

Source source_at(const std::string& path) {
    std::error_code error;
    if (!fs::is_directory(path, error)) return {path, {path}};
    Source source{path};
    for (const fs::path& file : formats::files_below(path))
        if (const std::string ending = ending_of(file); text_endings.contains(ending) || image_endings.contains(ending))
            source.files.push_back(file);
    return source;
}

std::uint64_t size_of(const fs::path& file) {
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(file, error);
    check(!error, file.string(), ": ", error.message());
    return bytes;
}

bool is_read(const fs::path& file) { return !image_endings.contains(ending_of(file)); }

Json record_of(const Source& source, const std::function<void(double bytes)>& on_read) {
    ContentHash hash;
    std::uint64_t all = 0;
    for (const fs::path& file : source.files) {
        const std::uint64_t bytes = size_of(file);
        all += bytes;
        if (source.files.size() > 1 || file != source.path)
            hash.add(file.lexically_relative(source.path).generic_string());
        hash.add(bytes);
        if (!is_read(file) || bytes == 0) continue;
        const MappedFile content(file);
        constexpr std::size_t at_once = std::size_t{1} << 26;
        for (std::string_view left(reinterpret_cast<const char*>(content.data()), content.bytes()); !left.empty();) {
            const std::string_view part = left.substr(0, at_once);
            hash.add(part);
            left.remove_prefix(part.size());
            on_read(static_cast<double>(part.size()));
        }
    }
    return Json::object()
        .set("path", source.path)
        .set("files", source.files.size())
        .set("bytes", static_cast<std::int64_t>(all))
        .set("hash", hash.text());
}

std::string described(const Json& record) {
    const std::int64_t files = record.find("files")->as_integer();
    return fmt::format("{}{} bytes", files == 1 ? "" : fmt::format("{} files, ", files),
                       record.find("bytes")->as_integer());
}

// "book.txt: 4000 bytes → 4100 bytes"; empty where nothing changed, or nothing is known of before.
std::string difference(const std::string& key, const Json& earlier, const Json& now) {
    std::string list;
    for (const Json& record : now.items()) {
        const Json& path = *record.find("path");
        const auto before = std::find_if(earlier.items().begin(), earlier.items().end(),
                                         [&](const Json& one) { return *one.find("path") == path; });
        if (before == earlier.items().end() || *before == record) continue;
        const std::string old_text = described(*before), new_text = described(record);
        list += fmt::format("{}{}: {}: {} → {}", list.empty() ? "" : "; ", key, path.as_string(), old_text,
                            old_text == new_text ? "as many, and others" : new_text);
    }
    return list;
}

}  // namespace

Json record_of_data(const Recipe& recipe, const std::function<void(double done, double total)>& on_progress) {
    double done = 0, total = 0;
    std::vector<Source> train, validation;
    for (const std::string& path : recipe.train_data) train.push_back(source_at(path));
    for (const std::string& path : recipe.validation_data) validation.push_back(source_at(path));
    for (const auto* sources : {&train, &validation})
        for (const Source& source : *sources)
            for (const fs::path& file : source.files)
                if (is_read(file)) total += static_cast<double>(size_of(file));
    const auto records = [&](const std::vector<Source>& sources) {
        Json list = Json::array();
        for (const Source& source : sources)
            list.push_back(record_of(source, [&](double bytes) {
                done += bytes;
                if (on_progress) on_progress(done, total);
            }));
        return list;
    };
    Json record = Json::object().set("train", records(train));
    return record.set("validation", records(validation));
}

void check_same_data(const Recipe& recipe, const Json& earlier, const Json& now) {
    if (!earlier.is_object()) return;
    std::string changes;
    for (const char* set : {"train", "validation"}) {
        const Json* before = earlier.find(set);
        if (!before || !before->is_array()) continue;
        const std::string change = difference(text_of("data.", set), *before, *now.find(set));
        changes += (changes.empty() || change.empty() ? "" : "; ") + change;
    }
    check(changes.empty(), recipe.resolved.source(), ": the run to go on with has learned from other data: ", changes,
          "; a new run in another folder can start from its checkpoint");
}

}  // namespace tessera::training
