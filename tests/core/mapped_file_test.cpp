#include "tessera/core/mapped_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <thread>

#include "support/expect_error.h"
#include "tessera/tensor/tensor.h"

namespace tessera {
namespace {

class MappedFiles : public ::testing::Test {
   protected:
    void SetUp() override {
        std::string pattern = (std::filesystem::temp_directory_path() / "tessera_mapped_XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        directory_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    std::filesystem::path write(const std::vector<float>& values) const {
        const std::filesystem::path path = directory_ / "values";
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
        return path;
    }

    std::filesystem::path directory_;
};

TEST_F(MappedFiles, ATensorReadsItWithoutACopy) {
    const std::filesystem::path path = write({1, 2, 3, 4, 5, 6});
    Tensor x;
    {
        const auto file = std::make_shared<MappedFile>(path);
        EXPECT_EQ(file->bytes(), 24u);
        x = Tensor(std::make_shared<Storage>(cpu, file->data(), file->bytes(), file), DType::F32, {2, 2}, {2, 1}, 2);
        EXPECT_EQ(static_cast<void*>(x.data<float>()), static_cast<void*>(file->data() + 8));
    }
    EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{3, 4, 5, 6}));  // the storage keeps the file mapped
}

TEST_F(MappedFiles, WritingCopiesThePageNotTheFile) {
    const std::filesystem::path path = write({1, 2, 3});
    const auto file = std::make_shared<MappedFile>(path), other = std::make_shared<MappedFile>(path);
    const Tensor x(std::make_shared<Storage>(cpu, file->data(), file->bytes(), file), DType::F32, {3}, {1}, 0);
    x.fill(9);
    EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{9, 9, 9}));
    EXPECT_EQ(reinterpret_cast<const float*>(other->data())[0], 1);
    EXPECT_EQ(reinterpret_cast<const float*>(MappedFile(path).data())[2], 3);
}

TEST_F(MappedFiles, AnEmptyFileHasNoBytes) {
    const MappedFile file(write({}));
    EXPECT_EQ(file.bytes(), 0u);
}

TEST_F(MappedFiles, AFileMayBeLargerThanMemory) {
    constexpr std::uintmax_t bytes = std::uintmax_t{1} << 40;
    const std::filesystem::path path = write({1});
    std::filesystem::resize_file(path, bytes);  // a hole: nothing is on the disk
    const MappedFile file(path);
    EXPECT_EQ(file.bytes(), bytes);
    EXPECT_EQ(file.data()[bytes - 1], std::byte{0});
}

constexpr std::uintmax_t large = std::uintmax_t{4} << 20;

// What small files are read for: what happens to them later does not matter.
TEST_F(MappedFiles, ASmallFileMayChangeLater) {
    const std::filesystem::path path = write({1, 2, 3});
    const MappedFile file(path);
    std::filesystem::resize_file(path, 0);
    EXPECT_EQ(reinterpret_cast<const float*>(file.data())[2], 3);
}

TEST_F(MappedFiles, ALargeFileThatIsCutShortEndsInOneLine) {
    const std::filesystem::path path = write({1, 2, 3});
    const auto read_after_cut = [&](std::uintmax_t left) {
        std::filesystem::resize_file(path, large);
        const MappedFile other(path), file(path);
        std::filesystem::resize_file(path, left);
        volatile std::byte sum{0};
        for (std::size_t at = 0; at < file.bytes(); at += 512) sum = sum ^ file.data()[at];
    };
    const std::string line = path.string() + ": was cut short while it was in use";
    EXPECT_EXIT(read_after_cut(0), ::testing::ExitedWithCode(1), "tessera: " + line);
    EXPECT_EXIT(read_after_cut(large / 2), ::testing::ExitedWithCode(1), "tessera: " + line);
    EXPECT_EXIT(std::thread(read_after_cut, large - 4096).join(), ::testing::ExitedWithCode(1), "tessera: " + line);
}

TEST_F(MappedFiles, AReplacedFileStaysAsItWas) {
    const std::filesystem::path path = write({1, 2, 3});
    std::filesystem::resize_file(path, large);
    const MappedFile file(path);
    std::filesystem::rename(path, directory_ / "old");
    write({7});
    std::filesystem::remove(directory_ / "old");
    EXPECT_EQ(reinterpret_cast<const float*>(file.data())[1], 2);
    EXPECT_EQ(file.data()[large - 1], std::byte{0});
}

// A fault in memory that is nobody's file here goes to whoever was there first, also after files have come and gone.
TEST_F(MappedFiles, OtherFaultsGoToTheEarlierHandler) {
    const std::filesystem::path path = write({1});
    std::filesystem::resize_file(path, large);
    const auto fault = [&] {
        { const MappedFile ours(path); }
        const int file = ::open(path.c_str(), O_RDONLY);
        const auto* bytes = static_cast<const volatile char*>(::mmap(nullptr, large, PROT_READ, MAP_SHARED, file, 0));
        std::filesystem::resize_file(path, 0);
        std::exit(bytes[large / 2]);
    };
#ifdef __SANITIZE_ADDRESS__
    EXPECT_EXIT(fault(), ::testing::ExitedWithCode(1), "AddressSanitizer: BUS");
#else
    EXPECT_EXIT(fault(), ::testing::KilledBySignal(SIGBUS), "");
#endif
}

TEST_F(MappedFiles, ManyComeAndGo) {
    const std::filesystem::path path = write({1});
    std::filesystem::resize_file(path, large);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int k = 0; k < 200; ++k) {
                const MappedFile one(path), two(path);
                ASSERT_EQ(two.data()[large - 1], std::byte{0});
            }
        });
    for (std::thread& thread : threads) thread.join();
}

TEST_F(MappedFiles, AZeroByteInThePath) {
    testing::expect_error([&] { MappedFile file(std::string("a\0b", 3)); }, {"a: ", "zero byte"});
}

TEST_F(MappedFiles, APipeIsRefusedAtOnce) {
    const std::filesystem::path path = directory_ / "pipe";
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    testing::expect_error([&] { MappedFile file(path); }, {path.string(), "not a regular file"});
}

TEST_F(MappedFiles, ErrorsNameThePath) {
    const std::filesystem::path missing = directory_ / "nothing_here";
    testing::expect_error([&] { MappedFile file(missing); }, {missing.string(), "No such file"});
    testing::expect_error([&] { MappedFile file(directory_); }, {directory_.string(), "not a regular file"});
}

TEST_F(MappedFiles, BorrowedBytesNeedAnOwner) {
    float value = 1;
    testing::expect_error([&] { Storage(cpu, &value, 4, nullptr); }, {"owner"});
}

}  // namespace
}  // namespace tessera
