#include "tessera/formats/checkpoint.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <set>

#include "formats/safetensors_file.h"
#include "support/expect_error.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"

namespace tessera::formats {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::TemporaryFolder;

void expect_kept(const Tensor& actual, const Tensor& expected) {
    EXPECT_EQ(actual.dtype(), expected.dtype());
    EXPECT_EQ(actual.shape(), expected.shape());
    const auto bytes = static_cast<std::size_t>(bytes_of(expected.dtype(), expected.elements()));
    EXPECT_EQ(std::memcmp(actual.view().data, expected.view().data, bytes), 0);
}

std::set<std::string> names_in(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
    return names;
}

// Four tensors of 40 bytes.
NamedTensors some_tensors(float first = 0) {
    NamedTensors tensors;
    for (const char* name : {"embed", "layer.0", "layer.1", "head"}) {
        std::vector<float> values(10, first + static_cast<float>(tensors.size()));
        tensors.emplace_back(name, Tensor::from(values, {2, 5}));
    }
    return tensors;
}

const Json some_config = Json::object().set("model_type", "x").set("width", 5);
constexpr std::int64_t two_tensors = 80;

class SavedCheckpoint : public ::testing::Test {
   protected:
    void save(const NamedTensors& tensors, std::int64_t max_shard_bytes) {
        write_checkpoint(folder_.path(), some_config, tensors, {.max_shard_bytes = max_shard_bytes});
    }
    void expect_opens_as(const NamedTensors& tensors) {
        const Checkpoint checkpoint = open_checkpoint(folder_.path());
        ASSERT_EQ(checkpoint.tensors.size(), tensors.size());
        for (const auto& [name, tensor] : tensors) expect_kept(checkpoint.tensors.at(name), tensor);
    }
    void expect_refused(std::initializer_list<std::string> parts) {
        expect_error([&] { open_checkpoint(folder_.path()); }, {folder_.path().string()});
        expect_error([&] { open_checkpoint(folder_.path()); }, parts);
    }
    // An index that places one tensor, "w", in this shard.
    void write_index(const std::string& shard) {
        folder_.write("config.json", "{}");
        folder_.write("model.safetensors.index.json",
                      Json::object().set("weight_map", Json::object().set("w", shard)).dump());
    }

    TemporaryFolder folder_;
};

TEST(Checkpoint, OpensAFolderAsTheTestsOwnReaderDoes) {
    const Checkpoint checkpoint = open_checkpoint(testing::golden_path("gpt2"));
    const testing::Golden golden("gpt2/model.safetensors");
    EXPECT_EQ(checkpoint.config.text("model_type"), "gpt2");
    ASSERT_EQ(checkpoint.tensors.size(), golden.tensors().size());
    for (const auto& [name, tensor] : golden.tensors()) expect_kept(checkpoint.tensors.at(name), tensor);
}

TEST_F(SavedCheckpoint, ShardedIsTheSameAsSingle) {
    save(some_tensors(), two_tensors * 2);
    EXPECT_EQ(names_in(folder_.path()), (std::set<std::string>{"config.json", "model.safetensors"}));
    expect_opens_as(some_tensors());
    save(some_tensors(), two_tensors);
    EXPECT_EQ(names_in(folder_.path()),
              (std::set<std::string>{"config.json", "model-00001-of-00002.safetensors",
                                     "model-00002-of-00002.safetensors", "model.safetensors.index.json"}));
    expect_opens_as(some_tensors());
    EXPECT_EQ(read_safetensors(folder_ / "model-00001-of-00002.safetensors").metadata, (Metadata{{"format", "pt"}}));
    const Json index = Json::read(folder_ / "model.safetensors.index.json");
    EXPECT_EQ(index.find("metadata")->find("total_size")->as_integer(), 160);
    EXPECT_EQ(index.find("weight_map")->find("head")->as_string(), "model-00002-of-00002.safetensors");
    EXPECT_EQ(read_config(folder_.path()).json(), some_config);
}

TEST_F(SavedCheckpoint, ATensorLargerThanAShardStandsAlone) {
    save(some_tensors(), 1);
    expect_opens_as(some_tensors());
    EXPECT_TRUE(fs::exists(folder_ / "model-00004-of-00004.safetensors"));
}

TEST_F(SavedCheckpoint, AnEarlierSaveLeavesNothingBehind) {
    for (const std::int64_t bytes : {std::int64_t{1}, two_tensors, 2 * two_tensors, two_tensors}) {
        const auto first = static_cast<float>(bytes);
        save(some_tensors(first), bytes);
        expect_opens_as(some_tensors(first));
        const auto weights = static_cast<std::size_t>(bytes == 1 ? 4 : bytes == two_tensors ? 2 : 1);
        EXPECT_EQ(names_in(folder_.path()).size(), 1 + weights + (weights > 1 ? 1 : 0));
    }
}

TEST_F(SavedCheckpoint, OtherFilesOfTheFolderStay) {
    folder_.write("tokenizer.json", "{}");
    folder_.write("my-model-00001-of-00002.safetensors", "mine");
    save(some_tensors(), 1000);
    EXPECT_EQ(folder_.read("tokenizer.json"), "{}");
    EXPECT_EQ(folder_.read("my-model-00001-of-00002.safetensors"), "mine");
}

TEST_F(SavedCheckpoint, AnOpenCheckpointMayBeSavedOverItself) {
    save(some_tensors(), two_tensors);
    const Checkpoint open = open_checkpoint(folder_.path());
    const NamedTensors tensors(open.tensors.begin(), open.tensors.end());
    write_checkpoint(folder_.path(), open.config, tensors);
    expect_opens_as(some_tensors());
    expect_opens_as(tensors);  // the files that are gone are still mapped
}

TEST_F(SavedCheckpoint, AFailedSaveLeavesTheEarlierOne) {
    save(some_tensors(), two_tensors);
    const auto names = names_in(folder_.path());
    NamedTensors wrong = some_tensors(100);
    wrong.emplace_back("late", Tensor::deferred({3}));
    expect_error([&] { save(wrong, two_tensors); }, {folder_.path().string(), "\"late\"", "no values"});
    wrong.back() = wrong.front();
    expect_error([&] { save(wrong, two_tensors); }, {folder_.path().string(), "\"embed\"", "twice"});
    EXPECT_EQ(names_in(folder_.path()), names);
    expect_opens_as(some_tensors());
}

TEST_F(SavedCheckpoint, GenerationConfigIsOptional) {
    save(some_tensors(), 1000);
    EXPECT_FALSE(open_checkpoint(folder_.path()).generation_config.has("eos_token_id"));
    write_checkpoint(folder_.path(), some_config, some_tensors(),
                     {.generation_config = Json::object().set("eos_token_id", 2)});
    EXPECT_EQ(open_checkpoint(folder_.path()).generation_config.integer("eos_token_id"), 2);
    folder_.write("generation_config.json", "[]");
    expect_refused({"generation_config.json", "expected an object"});
}

TEST_F(SavedCheckpoint, AFolderWithoutWeightsHasAConfig) {
    folder_.write("config.json", R"({"width": 7})");
    EXPECT_EQ(read_config(folder_.path()).positive("width"), 7);
    EXPECT_EQ(read_config(folder_ / "config.json").positive("width"), 7);
    expect_refused({"no weights", "model.safetensors", "model.safetensors.index.json"});
    folder_.write("pytorch_model.bin", "");
    expect_refused({"no weights", "pytorch_model.bin must be converted"});
}

TEST_F(SavedCheckpoint, AVariantStandsInForTheWeightsWhileItIsAlone) {
    save(some_tensors(), 1000);
    fs::rename(folder_ / "model.safetensors", folder_ / "model.fp16.safetensors");
    EXPECT_EQ(open_checkpoint(folder_.path()).tensors.size(), some_tensors().size());
    fs::copy_file(folder_ / "model.fp16.safetensors", folder_ / "model.bf16.safetensors");
    expect_refused({"more than one variant", "model.bf16.safetensors", "model.fp16.safetensors"});
}

TEST_F(SavedCheckpoint, MissingFilesAreNamed) {
    expect_refused({"config.json"});
    expect_error([&] { open_checkpoint(folder_ / "nowhere"); }, {"nowhere", "no such folder"});
    expect_error([&] { open_checkpoint(folder_.write("file", "")); }, {"file", "not a folder"});
    expect_error([&] { read_config(folder_ / "other.json"); }, {"other.json", "no such file"});
    save(some_tensors(), two_tensors);
    fs::remove(folder_ / "model-00002-of-00002.safetensors");
    expect_refused(
        {"model.safetensors.index.json: weight_map: ", "\"model-00002-of-00002.safetensors\"", "not in the folder"});
}

TEST_F(SavedCheckpoint, IndexAndShardsMustAgree) {
    write_index("a.safetensors");
    write_safetensors(folder_ / "a.safetensors", {{"v", Tensor::zeros({2})}});
    expect_refused({"index.json: weight_map: \"w\" is not in shard a.safetensors"});
    write_safetensors(folder_ / "a.safetensors", {{"v", Tensor::zeros({2})}, {"w", Tensor::zeros({2})}});
    expect_refused({"a.safetensors: tensor \"v\": ", "does not place it in this shard"});
    // A name in two shards is in one of them against the index.
    folder_.write("model.safetensors.index.json", R"({"weight_map": {"v": "a.safetensors", "w": "b.safetensors"}})");
    write_safetensors(folder_ / "b.safetensors", {{"w", Tensor::zeros({2})}});
    expect_refused({"a.safetensors: tensor \"w\": ", "does not place it in this shard"});
}

TEST_F(SavedCheckpoint, IndexesThatAreNone) {
    const auto expect_index_refused = [&](const char* text, std::initializer_list<std::string> parts) {
        folder_.write("model.safetensors.index.json", text);
        expect_refused({"model.safetensors.index.json: "});
        expect_refused(parts);
    };
    folder_.write("config.json", "{}");
    expect_index_refused("{}", {"weight_map: missing"});
    expect_index_refused(R"({"weight_map": []})", {"weight_map: expected an object"});
    expect_index_refused(R"({"weight_map": {}})", {"weight_map: names no tensor"});
    expect_index_refused(R"({"weight_map": {"w": 1}})", {"weight_map: \"w\": expected a file name, found 1"});
    expect_index_refused(R"({"weight_map": {"w": "a", "w": "b"}})", {"\"w\" is given twice"});
}

TEST_F(SavedCheckpoint, ShardNamesMayNotLeaveTheFolder) {
    for (const std::string shard : {"../a.safetensors", "/etc/passwd", "sub/a.safetensors", "..", ".", "", "a\\b"}) {
        write_index(shard);
        expect_refused({"index.json: weight_map: \"w\"", Json(shard).dump(), "no plain file name"});
    }
    write_index(std::string("a\0b", 3));
    expect_refused({"no plain file name"});
}

TEST_F(SavedCheckpoint, LinksMayNotLeaveTheFolder) {
    const TemporaryFolder outside;
    write_safetensors(outside / "secret", {{"w", Tensor::zeros({2})}});
    for (const std::string link : {"model.safetensors", "config.json", "generation_config.json"}) {
        save(some_tensors(), 1000);
        fs::remove(folder_ / link);
        fs::create_symlink(outside / "secret", folder_ / link);
        expect_refused({link, "a link out of the folder", (outside / "secret").string()});
        fs::remove(folder_ / link);
    }
    fs::remove(folder_ / "model.safetensors");
    write_index("a.safetensors");
    fs::create_symlink(outside / "secret", folder_ / "a.safetensors");
    expect_refused({"a.safetensors", "a link out of the folder"});
    fs::remove(folder_ / "a.safetensors");
    fs::create_symlink("nowhere", folder_ / "a.safetensors");
    expect_refused({"a.safetensors", "a link that leads nowhere"});
    // Two links, the first of which stays inside.
    fs::remove(folder_ / "a.safetensors");
    fs::create_symlink("b", folder_ / "a.safetensors");
    fs::create_symlink(outside / "secret", folder_ / "b");
    expect_refused({"a.safetensors", "a link out of the folder"});
    fs::remove(folder_ / "b");
    write_safetensors(folder_ / "b", {{"w", Tensor::zeros({2})}});
    EXPECT_EQ(open_checkpoint(folder_.path()).tensors.size(), 1u);
}

TEST_F(SavedCheckpoint, TheHubsCacheIsFollowedToItsBlobs) {
    save(some_tensors(), two_tensors);
    const TemporaryFolder hub;
    const fs::path model = hub / "models--x--y", snapshot = model / "snapshots/0123abc";
    fs::create_directories(model / "blobs");
    fs::create_directories(snapshot);
    for (const std::string& name : names_in(folder_.path())) {
        fs::copy_file(folder_ / name, model / "blobs" / text_of("hash-of-", name));
        fs::create_symlink(text_of("../../blobs/hash-of-", name), snapshot / name);
    }
    EXPECT_EQ(open_checkpoint(snapshot).tensors.size(), 4u);
    fs::create_directory_symlink(snapshot, hub / "latest");  // the folder itself may be given through a link
    EXPECT_EQ(open_checkpoint(hub / "latest").tensors.size(), 4u);

    const auto expect_link_refused = [&](const fs::path& target) {
        fs::remove(snapshot / "config.json");
        fs::create_symlink(target, snapshot / "config.json");
        expect_error([&] { open_checkpoint(snapshot); }, {"config.json", "a link out of the folder"});
    };
    hub.write("models--x--y/refs/main", "{}");
    expect_link_refused("../../refs/main");
    hub.write("models--x--y/blobs/deeper/config.json", "{}");
    expect_link_refused("../../blobs/deeper/config.json");
    hub.write("models--other/blobs/hash", "{}");
    expect_link_refused("../../../models--other/blobs/hash");
}

// Pages of this process that are in memory, in bytes.
std::int64_t resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    std::int64_t total = 0, resident = 0;
    statm >> total >> resident;
    return resident * 4096;
}

TEST_F(SavedCheckpoint, OpeningDoesNotTouchTheWeights) {
    constexpr std::uintmax_t data_bytes = std::uintmax_t{4} << 30;
    folder_.write("config.json", "{}");
    const std::string header = R"({"w": {"dtype": "BF16", "shape": [2147483648], "data_offsets": [0, 4294967296]}})";
    const fs::path path = folder_.write("model.safetensors", testing::safetensors_file(header, 0));
    fs::resize_file(path, fs::file_size(path) + data_bytes);  // a hole: nothing is on the disk
    const std::int64_t before = resident_bytes();
    const Checkpoint checkpoint = open_checkpoint(folder_.path());
    EXPECT_LT(resident_bytes() - before, std::int64_t{8} << 20);
    EXPECT_EQ(checkpoint.tensors.at("w").elements(), std::int64_t{1} << 31);
}

}  // namespace
}  // namespace tessera::formats
