#include "tessera/formats/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace tessera::formats {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::TemporaryFolder;

// Writes past this many bytes of a file fail, as on a full disk.
class FileSizeLimit {
   public:
    explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileSizeLimit() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;

   private:
    void (*handler_)(int);
    rlimit before_{};
};

TEST(AtomicFile, StandsOnlyOnceCommitted) {
    const TemporaryFolder folder;
    folder.write("a", "old");
    AtomicFile file(folder / "a");
    file.write("new");
    file.finish();
    EXPECT_EQ(folder.read("a"), "old");
    file.commit();
    EXPECT_EQ(folder.read("a"), "new");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(AtomicFile, WithoutCommitLeavesNothing) {
    const TemporaryFolder folder;
    { AtomicFile(folder / "a").write("half"); }
    EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(AtomicFile, AFullDiskIsAnErrorAndLeavesTheEarlierFile) {
    const TemporaryFolder folder;
    folder.write("a", "old");
    const std::string text(1 << 20, 'x');
    expect_error(
        [&] {
            const FileSizeLimit limit(1 << 16);
            AtomicFile file(folder / "a");
            file.write(text);
            file.commit();
        },
        {(folder / "a").string(), "cannot write", "too large"});
    EXPECT_EQ(folder.read("a"), "old");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(AtomicFile, ReplacesALinkNotWhatItLeadsTo) {
    const TemporaryFolder folder;
    folder.write("blob", "kept");
    fs::create_symlink("blob", folder / "a");
    AtomicFile file(folder / "a");
    file.write("new");
    file.commit();
    EXPECT_EQ(folder.read("blob"), "kept");
    EXPECT_EQ(folder.read("a"), "new");
}

TEST(AtomicFile, ErrorsNameThePath) {
    const TemporaryFolder folder;
    expect_error([&] { AtomicFile(folder / "missing/a"); }, {"missing/a", "cannot create", "No such file"});
    fs::create_directories(folder / "taken/inside");
    expect_error([&] { AtomicFile(folder / "taken").commit(); }, {"taken", "cannot rename"});
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace tessera::formats
