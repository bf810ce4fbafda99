// Sets of images: classes, pixels in their places, and what is wrong with a file said in one line.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "tessera/data/image_files.h"
#include "tessera/data/image_processor.h"
#include "tessera/data/labelled_images.h"

namespace tessera::data {
namespace {

using testing::expect_error;
using testing::TemporaryFolder;

std::string big_endian(std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
    return bytes;
}

std::string idx(const std::vector<std::uint32_t>& sizes, const std::string& values) {
    std::string bytes{0, 0, 8, static_cast<char>(sizes.size())};
    for (const std::uint32_t size : sizes) bytes += big_endian(size);
    return bytes + values;
}

// Two images of 2 × 3 pixels.
const std::string images = idx({2, 2, 3}, "abcdefABCDEF"), labels = idx({2}, std::string{7, 3});

formats::Image plain(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
    formats::Image image(2, 2);
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
        image.pixels[i] = i % 3 == 0 ? red : i % 3 == 1 ? green : blue;
    return image;
}

TEST(IdxImages, PixelsAndLabelsStandAsInTheFiles) {
    const TemporaryFolder folder;
    const std::string file = folder.write("train-images-idx3-ubyte", images).string();
    folder.write("train-labels-idx1-ubyte", labels);
    const auto set = open_images({file}, {});
    ASSERT_EQ(set->size(), 2);
    const formats::Image second = set->image(1);
    EXPECT_EQ(second.width, 3);
    EXPECT_EQ(second.height, 2);
    EXPECT_EQ(second.row(1)[3 * 2], 'F');
    EXPECT_EQ(second.row(0)[3 * 1 + 2], 'B');
    EXPECT_EQ(set->label(0), 7);
    EXPECT_EQ(set->label(1), 3);
    EXPECT_EQ(image_classes({file}).size(), 8u);
}

TEST(IdxImages, BadFilesAreNamed) {
    const TemporaryFolder folder;
    const auto refuse = [&](const std::string& image_file, const std::string& label_file,
                            std::initializer_list<std::string> parts) {
        const std::string file = folder.write("x-images-idx3-ubyte", image_file).string();
        folder.write("x-labels-idx1-ubyte", label_file);
        expect_error([&] { open_images({file}, {}); }, parts);
    };
    refuse(images.substr(0, images.size() - 1), labels, {"x-images", "12 values", "11 follow"});
    refuse(images + "x", labels, {"x-images", "13 follow"});
    refuse(images.substr(0, 9), labels, {"x-images", "too few"});
    refuse(labels, labels, {"x-images", "expected 3 dimensions, found 1"});
    refuse(idx({2, 0, 3}, ""), labels, {"x-images", "dimension 2 is 0"});
    refuse(idx({0xffffffff, 4096, 4096}, "abc"), labels, {"x-images", "3 follow"});
    refuse(images, idx({3}, "abc"), {"x-labels", "3 labels for 2 images"});
    refuse("\x1f\x8b\x08 and so on", labels, {"x-images", "gunzip"});
    std::filesystem::remove(folder / "x-labels-idx1-ubyte");
    expect_error([&] { open_images({folder.write("x-images-idx3-ubyte", images).string()}, {}); }, {"x-labels"});
    expect_error([&] { open_images({folder.write("noname", images).string()}, {}); }, {"noname", "labels"});
    EXPECT_EQ(open_images({(folder / "noname").string()}, {.with_labels = false})->size(), 2);
}

TEST(CifarImages, PlanesBecomePixels) {
    const TemporaryFolder folder;
    std::string record(1 + 3072, 'g');
    record[0] = 4;
    record[1 + 33] = 'r';               // red, row 1, column 1
    record[1 + 2 * 1024 + 1023] = 'b';  // blue, the last pixel
    const std::string one = folder.write("one.bin", record).string(), two = folder.write("two.bin", record + record);
    const auto set = open_images({one, two}, {});
    ASSERT_EQ(set->size(), 3);
    for (std::int64_t i = 0; i < 3; ++i) {
        const formats::Image image = set->image(i);
        EXPECT_EQ(image.row(1)[3], 'r');
        EXPECT_EQ(image.row(1)[4], 'g');
        EXPECT_EQ(image.row(31)[31 * 3 + 2], 'b');
        EXPECT_EQ(set->label(i), 4);
    }
    EXPECT_EQ(set->where(2), two + ": record 1");
    expect_error([&] { open_images({folder.write("bad.bin", record + "x").string()}, {}); }, {"bad.bin", "3074"});
    expect_error([&] { open_images({folder.write("bad.bin", "").string()}, {}); }, {"bad.bin"});
    record[0] = 10;
    expect_error([&] { open_images({folder.write("bad.bin", record).string()}, {}); }, {"record 0", "class 10"});
}

TEST(ImageFolder, FoldersAreClassesByName) {
    const TemporaryFolder folder;
    for (const char* name : {"dogs", "cats", ".hidden"}) std::filesystem::create_directories(folder / name);
    formats::write_png(folder / "dogs/b.PNG", plain(1, 2, 3));
    formats::write_png(folder / "cats/a.png", plain(4, 5, 6));
    folder.write("cats/notes.txt", "no image");
    const std::vector<std::string> data{folder.path().string()};
    EXPECT_EQ(image_classes(data), (std::vector<std::string>{"cats", "dogs"}));
    const auto set = open_images(data, {.classes = {"fish", "dogs", "cats"}});
    ASSERT_EQ(set->size(), 2);
    EXPECT_EQ(set->label(0), 2);
    EXPECT_EQ(set->label(1), 1);
    EXPECT_EQ(set->image(1), plain(1, 2, 3));
    expect_error([&] { open_images(data, {.classes = {"cats"}}); }, {"dogs", "no class"});
    folder.write("dogs/c.jpg", "not an image");
    expect_error([&] { open_images(data, {.classes = {"cats", "dogs"}})->image(2); }, {"c.jpg"});
}

TEST(ImageFolder, AnythingElseIsRefused) {
    const TemporaryFolder folder;
    expect_error([&] { open_images({(folder / "nowhere").string()}, {}); }, {"nowhere", "no such"});
    expect_error([&] { open_images({folder.path().string()}, {}); }, {"one folder per class"});
    std::filesystem::create_directories(folder / "empty");
    expect_error([&] { open_images({folder.path().string()}, {.classes = {"empty"}}); }, {"no PNG"});
    expect_error([&] { open_images({folder.write("a.txt", "text").string()}, {}); }, {"a.txt", "idx"});
    expect_error([&] { open_images({}, {}); }, {"no images"});
}

// Pillow's convert("L") of these colours.
TEST(ImageProcessor, GreyIsBrightness) {
    const formats::ImageProcessorConfig settings{.grey = true, .resizes = false, .normalises = false};
    const std::vector<formats::Image> images{plain(255, 0, 0), plain(0, 255, 0), plain(0, 0, 255), plain(9, 9, 9)};
    const Tensor values = pixel_values(images, settings);
    EXPECT_EQ(values.shape(), (Shape{4, 1, 2, 2}));
    const std::vector<float> all = values.to_vector<float>();
    for (std::size_t i = 0; i < 4; ++i)
        EXPECT_EQ(std::lround(all[4 * i] * 255), (std::vector<long>{76, 150, 29, 9})[i]);
}

TEST(ImageFiles, ABrokenOneIsFoundByItsHeaderOrItsEnd) {
    const TemporaryFolder folder;
    formats::write_png(folder / "a.png", formats::Image(40, 30));
    formats::write_jpeg(folder / "b.jpg", formats::Image(40, 30));
    const std::string png = folder.read("a.png"), jpeg = folder.read("b.jpg");
    std::vector<double> progress;
    check_image_files({folder / "a.png", folder / "b.jpg", folder / "a.png"}, [&](double done, double total) {
        progress = {done, total};
    });
    EXPECT_EQ(progress, (std::vector<double>{2, 2}));
    check_image_files({folder.write("late.jpg", jpeg + "more")});  // read whole: it can be opened
    for (const auto& [name, bytes] : {std::pair<std::string, std::string>("cut.png", png.substr(0, png.size() - 20)),
                                      {"short.png", png.substr(0, 20)},
                                      {"text.jpg", "no image at all"},
                                      {"empty.jpg", ""},
                                      {"head.jpg", jpeg.substr(0, 40)}})
        expect_error([&, file = folder.write(name, bytes)] { check_image_files({folder / "a.png", file}); }, {name});
}

TEST(ImageFolder, AnEmptyFolderIsNoClass) {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder / "set/cats");
    std::filesystem::create_directories(folder / "set/dogs");
    std::filesystem::create_directories(folder / "more/dogs");
    formats::write_png(folder / "set/cats/a.png", formats::Image(4, 4));
    expect_error([&] { image_classes({(folder / "set").string()}); }, {"set/dogs", "would count as a class"});
    formats::write_png(folder / "more/dogs/a.png", formats::Image(4, 4));
    EXPECT_EQ(image_classes({(folder / "set").string(), (folder / "more").string()}),
              (std::vector<std::string>{"cats", "dogs"}));
}

}  // namespace
}  // namespace tessera::data
