#include "tessera/formats/find_file.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace tessera::formats {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::TemporaryFolder;

TEST(FindFile, FilesAndLinksWithinTheFolder) {
    const TemporaryFolder folder;
    folder.write("m/a.json", "{}");
    folder.write("m/1_Pooling/config.json", "{}");
    fs::create_symlink("a.json", folder / "m/b.json");
    fs::create_symlink("../a.json", folder / "m/1_Pooling/a.json");
    fs::create_directory_symlink("m", folder / "link");
    for (const fs::path& home : {folder / "m", folder / "link", folder / "m/1_Pooling/.."}) {
        EXPECT_EQ(find_file(home, "a.json"), home / "a.json");
        EXPECT_EQ(find_file(home, "b.json"), home / "b.json");
        EXPECT_EQ(find_file(home, "1_Pooling/config.json"), home / "1_Pooling/config.json");
        EXPECT_EQ(find_file(home, "1_Pooling/a.json"), home / "1_Pooling/a.json");
        EXPECT_EQ(find_file(home, "c.json"), fs::path());
        EXPECT_EQ(find_file(home, "a.json/c.json"), fs::path());
    }
    EXPECT_EQ(find_file(folder / "nowhere", "a.json"), fs::path());
}

TEST(FindFile, NoWayOutOfTheFolder) {
    const TemporaryFolder folder;
    folder.write("m/a.json", "{}");
    folder.write("secret.txt", "secret");
    folder.write("m2/secret.txt", "a folder whose name only begins the same");
    fs::create_symlink("../secret.txt", folder / "m/out.json");
    fs::create_symlink("out.json", folder / "m/twice.json");
    fs::create_symlink("../m2/secret.txt", folder / "m/beside.json");
    fs::create_directory_symlink("..", folder / "m/up");
    fs::create_symlink("/dev/zero", folder / "m/device.json");
    fs::create_symlink("nothing", folder / "m/nowhere.json");
    fs::create_symlink("loop.json", folder / "m/loop.json");
    for (const char* name : {"out.json", "twice.json", "beside.json", "up/secret.txt", "device.json", "../secret.txt"})
        expect_error([&] { find_file(folder / "m", name); }, {name, "a link out of the folder"});
    expect_error([&] { find_file(folder / "m", folder / "secret.txt"); }, {"secret.txt", "a link out of the folder"});
    for (const char* name : {"nowhere.json", "loop.json"})
        expect_error([&] { find_file(folder / "m", name); }, {name, "a link that leads nowhere"});
    expect_error([&] { find_file(folder / "m", std::string("a.json\0x", 8)); }, {"zero byte"});
    expect_error([&] { find_file(folder / "m", std::string(300, 'x')); }, {"too long"});
}

TEST(FindFile, TheHubsCache) {
    const TemporaryFolder cache;
    cache.write("models--x--y/blobs/123", "{}");
    cache.write("models--x--z/blobs/456", "{}");
    const fs::path snapshot = cache / "models--x--y/snapshots/abc";
    fs::create_directories(snapshot / "1_Pooling");
    fs::create_symlink("../../blobs/123", snapshot / "chat_template.jinja");
    fs::create_symlink("../../../blobs/123", snapshot / "1_Pooling/config.json");
    fs::create_symlink("../../../models--x--z/blobs/456", snapshot / "other.json");
    EXPECT_EQ(find_file(snapshot, "chat_template.jinja"), snapshot / "chat_template.jinja");
    EXPECT_EQ(find_file(snapshot, "1_Pooling/config.json"), snapshot / "1_Pooling/config.json");
    expect_error([&] { find_file(snapshot, "other.json"); }, {"other.json", "a link out of the folder"});
}

TEST(FindFile, ABareNameHasNeighbours) {
    EXPECT_EQ(folder_of("model.gguf"), ".");
    EXPECT_EQ(folder_of("a/model.gguf"), "a");
    EXPECT_EQ(folder_of("/model.gguf"), "/");
}

TEST(FindFile, WhyNothingIsThere) {
    const TemporaryFolder folder;
    fs::create_symlink("loop", folder / "loop");
    expect_error([&] { check_exists(folder / "nothing"); }, {"nothing", "no such file or folder"});
    expect_error([&] { check_exists(folder / "loop"); }, {"loop", "symbolic links"});
    expect_error([&] { check_exists(folder / std::string(300, 'x')); }, {"xxx", "too long"});
    expect_error([&] { check_exists(std::string("a\0b", 3)); }, {"a: ", "zero byte"});
    EXPECT_NO_THROW(check_exists(folder.path()));
}

TEST(FindFile, FilesAndFoldersByName) {
    const TemporaryFolder folder;
    folder.write("b/2.txt", "");
    folder.write("b/c/1.txt", "");
    folder.write("a/3.txt", "");
    folder.write(".hidden/4.txt", "");
    fs::create_symlink("loop", folder / "loop");
    fs::create_directory_symlink("..", folder / "b/up");
    EXPECT_EQ(folders_in(folder.path()), (std::vector<fs::path>{folder / "a", folder / "b"}));
    EXPECT_EQ(files_below(folder / "b"), (std::vector<fs::path>{folder / "b/2.txt", folder / "b/c/1.txt"}));
    expect_error([&] { files_below(folder / "nothing"); }, {"nothing", "No such file"});
    expect_error([&] { folders_in(folder / "a/3.txt"); }, {"3.txt", "Not a directory"});
}

}  // namespace
}  // namespace tessera::formats
