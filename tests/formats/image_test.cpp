// Images of every kind against what they show, and refusals of what is no image.
#include "tessera/formats/image/image.h"

#include <gtest/gtest.h>

#include <set>

#include "formats/image_files.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "tessera/formats/image/decoders.h"
#include "tessera/formats/image/transparent_image.h"

namespace tessera::formats {
namespace {

namespace fs = std::filesystem;
using testing::decode;
using testing::drawn_image;
using testing::drawn_over_white;
using testing::expect_error;
using testing::image_bytes;
using testing::jpeg_of;
using testing::largest_difference;
using testing::png_of;
using testing::PngText;
using testing::text_chunk;
using testing::with_orientation;

constexpr int grey_type = 0, grey_alpha_type = 4, rgb_alpha_type = 6;

TEST(Image, LosslessKindsGiveEveryPixel) {
    for (const char* name : {"interlaced.png", "rgb16.png", "lossless.webp", "opaque.gif"})
        EXPECT_EQ(decode(image_bytes(name)), drawn_image()) << name;
    for (const char* name : {"alpha.png", "alpha.webp", "anim.webp"})
        EXPECT_EQ(decode(image_bytes(name)), drawn_over_white()) << name;
}

TEST(Image, TransparencyIsKeptWhereItIsAskedFor) {
    const Image drawn = drawn_image();
    for (const char* name : {"alpha.png", "alpha.webp", "anim.webp", "opaque.gif", "s444.jpg"}) {
        const std::string bytes = image_bytes(name);
        const TransparentImage image = decode_transparent_image(std::as_bytes(std::span(bytes)), name);
        ASSERT_EQ(image.pixels.size(), 13u * 9 * 4) << name;
        const bool has_alpha =
            std::string(name).find("opaque") == std::string::npos && !std::string(name).ends_with("jpg");
        for (std::size_t i = 0; i < 13 * 9; ++i) {
            EXPECT_EQ(image.pixels[i * 4 + 3], has_alpha ? i * 37 % 256 : 255) << name;
            if (image.pixels[i * 4 + 3] == 0 || std::string(name).ends_with("jpg")) continue;
            for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(image.pixels[i * 4 + c], drawn.pixels[i * 3 + c]) << name;
        }
    }
    const std::string other = "BMxx";
    expect_error([&] { decode_transparent_image(std::as_bytes(std::span(other)), "x.bmp"); }, {"x.bmp", "BMP"});
}

TEST(Image, TransparentImagesAreTurnedToo) {
    for (const char* name : {"exif3.png", "exif6.webp"}) {
        const Image plain = decode(image_bytes(name));
        const TransparentImage image = read_transparent_image(testing::golden_path(std::string("pictures/") + name));
        ASSERT_EQ(image.width, plain.width) << name;
        ASSERT_EQ(image.height, plain.height) << name;
        for (std::size_t i = 0; i < plain.pixels.size(); ++i)
            EXPECT_EQ(image.pixels[i / 3 * 4 + i % 3], plain.pixels[i]) << name;
    }
}

// Another program's answers (libvips 8 over its own decoders), pixel by pixel.
TEST(Image, LossyKindsGiveTheReferencesPixels) {
    for (const std::string name : {"pictures/s444.jpg", "pictures/progressive.jpg", "pictures/gray.jpg",
                                   "pictures/exif6.jpg", "pictures/lossy.webp", "image-preprocess/picture.jpg"}) {
        const Image ours = read_image(testing::golden_path(name));
        EXPECT_EQ(std::string(ours.pixels.begin(), ours.pixels.end()),
                  testing::file_bytes(testing::golden_path(name + ".rgb")))
            << name;
    }
}

// Transparency in GIF and in a palette is rough or reduced to few colours; here only that white shows through.
TEST(Image, TransparentIndicesShowWhite) {
    for (const char* name : {"alpha.gif", "anim.gif", "palette.png"}) {
        const Image image = decode(image_bytes(name));
        EXPECT_EQ(image.width, 13);
        EXPECT_EQ(image.height, 9);
        for (int c = 0; c < 3; ++c) EXPECT_GE(image.row(0)[c], 247) << name;
    }
}

TEST(Image, ExifOrientationTurnsTheImage) {
    const std::string plain = image_bytes("s444.jpg");
    const Image image = decode(plain);
    // Where the image's pixel (x, y) stands after turning, by the EXIF standard's words for each orientation.
    const auto place = [&](int orientation, std::int64_t x, std::int64_t y) -> std::pair<std::int64_t, std::int64_t> {
        const std::int64_t right = image.width - 1 - x, below = image.height - 1 - y;
        switch (orientation) {
            case 2: return {right, y};
            case 3: return {right, below};
            case 4: return {x, below};
            case 5: return {y, x};
            case 6: return {below, x};  // a quarter clockwise
            case 7: return {below, right};
            case 8: return {y, right};  // a quarter counter-clockwise
            default: return {x, y};
        }
    };
    for (int orientation = 0; orientation <= 9; ++orientation)
        for (const bool big_endian : {false, true}) {
            const Image turned = decode(with_orientation(plain, orientation, big_endian));
            ASSERT_EQ(turned.width, orientation >= 5 && orientation <= 8 ? image.height : image.width);
            for (std::int64_t y = 0; y < image.height; ++y)
                for (std::int64_t x = 0; x < image.width; ++x) {
                    const auto [column, line] = place(orientation, x, y);
                    ASSERT_EQ(std::memcmp(image.row(y) + x * 3, turned.row(line) + column * 3, 3), 0)
                        << orientation << " at " << x << ", " << y;
                }
        }
    EXPECT_EQ(decode(image_bytes("exif3.png")), upright(drawn_image(), 3));
    EXPECT_EQ(decode(image_bytes("exif6.webp")), upright(drawn_image(), 6));
}

// Where EXIF says nothing, XMP may.
TEST(Image, XmpOrientationTurnsTheImage) {
    const std::string plain = image_bytes("s444.jpg");
    const auto with_xmp = [&](const std::string& word) {
        const std::string text =
            std::string("http://ns.adobe.com/xap/1.0/\0", 29) + "<x:xmpmeta tiff:Orientations " + word;
        const std::string marker{'\xff', '\xe1', '\0', static_cast<char>(text.size() + 2)};
        return plain.substr(0, 2) + marker + text + plain.substr(2);
    };
    const Image image = decode(plain);
    EXPECT_EQ(decode(with_xmp("tiff:Orientation=\"6\"/>")), upright(image, 6));
    EXPECT_EQ(decode(with_xmp("<tiff:Orientation>3</tiff:Orientation>")), upright(image, 3));
    for (const char* word : {"tiff:Orientation=\"9\"", "tiff:Orientation=\"", "tiff:Orientation", "tiff:Orientation>x"})
        EXPECT_EQ(decode(with_xmp(word)), image) << word;
    EXPECT_EQ(decode(with_orientation(with_xmp("tiff:Orientation=\"6\"/>"), 8, true)), upright(image, 8));
}

// A PNG may tell its orientation after its pixels.
TEST(Image, MetadataAfterThePixelsCount) {
    std::string bytes = image_bytes("exif3.png");
    const std::size_t chunk = bytes.find("eXIf") - 4;
    const std::size_t length = 12 + static_cast<std::size_t>(static_cast<unsigned char>(bytes[chunk + 2]) * 256 +
                                                             static_cast<unsigned char>(bytes[chunk + 3]));
    const std::string exif = bytes.substr(chunk, length);
    bytes.erase(chunk, length);
    EXPECT_EQ(decode(bytes), drawn_image());
    bytes.insert(bytes.find("IEND") - 4, exif);
    EXPECT_EQ(decode(bytes), upright(drawn_image(), 3));
}

TEST(Image, DamagedExifIsUpright) {
    const std::string exif = with_orientation("\xff\xd8", 6, true).substr(12);
    for (std::size_t length = 0; length < exif.size() - 8; ++length)
        EXPECT_EQ(exif_orientation({reinterpret_cast<const std::uint8_t*>(exif.data()), length}), 0) << length;
    EXPECT_EQ(exif_orientation({reinterpret_cast<const std::uint8_t*>(exif.data()), exif.size()}), 6);
}

TEST(Image, InksAreReadAsAdobeStoresThem) {
    struct Inks {
        std::uint8_t stored[4], rgb[3];
    };
    // Stored is 255 − ink: all 255 is white paper, black 0 is black, and a stored cyan of 0 takes all red.
    const Inks cases[] = {{{255, 255, 255, 255}, {255, 255, 255}},
                          {{255, 255, 255, 0}, {0, 0, 0}},
                          {{0, 255, 255, 255}, {0, 255, 255}},
                          {{255, 0, 255, 255}, {255, 0, 255}},
                          {{200, 100, 50, 128}, {100, 50, 25}}};
    for (const Inks& inks : cases)
        for (const bool adobe : {true, false}) {
            testing::JpegSource source{.adobe_marker = adobe};
            std::memcpy(source.values, inks.stored, 4);
            const Image image = decode(jpeg_of(source));
            for (int c = 0; c < 3; ++c) EXPECT_NEAR(image.pixels[static_cast<std::size_t>(c)], inks.rgb[c], 1) << c;
            source.separate_black = source.adobe_marker = true;
            const Image separate = decode(jpeg_of(source));
            for (int c = 0; c < 3; ++c) EXPECT_NEAR(separate.pixels[static_cast<std::size_t>(c)], inks.rgb[c], 2) << c;
        }
}

TEST(Image, EveryDepthOfPng) {
    const auto greys = [](const Image& image) {
        std::vector<int> values;
        for (std::size_t i = 0; i < image.pixels.size(); i += 3) values.push_back(image.pixels[i]);
        return values;
    };
    const std::string one("\xa0", 1), two("\x1b", 1), four("\x0f\x80", 2), eight("\0\x80\xff", 3);
    EXPECT_EQ(greys(decode(png_of({.width = 4, .height = 1, .depth = 1, .colour_type = grey_type, .rows = one}))),
              (std::vector{255, 0, 255, 0}));
    EXPECT_EQ(greys(decode(png_of({.width = 4, .height = 1, .depth = 2, .colour_type = grey_type, .rows = two}))),
              (std::vector{0, 85, 170, 255}));
    EXPECT_EQ(greys(decode(png_of({.width = 3, .height = 1, .depth = 4, .colour_type = grey_type, .rows = four}))),
              (std::vector{0, 255, 136}));
    EXPECT_EQ(greys(decode(png_of({.width = 3, .height = 1, .depth = 8, .colour_type = grey_type, .rows = eight}))),
              (std::vector{0, 128, 255}));
    EXPECT_EQ(
        greys(decode(png_of(
            {.width = 3, .height = 1, .depth = 8, .colour_type = grey_type, .rows = eight, .transparent_grey = 128}))),
        (std::vector{0, 255, 255}));
    const std::string sixteen("\x12\xff\x80\x00\xff\xff", 6);
    EXPECT_EQ(greys(decode(png_of({.width = 3, .height = 1, .depth = 16, .colour_type = grey_type, .rows = sixteen}))),
              (std::vector{0x12, 0x80, 0xff}));
    const std::string alpha("\0\0\0\xff\0\x80", 6);
    EXPECT_EQ(
        greys(decode(png_of({.width = 3, .height = 1, .depth = 8, .colour_type = grey_alpha_type, .rows = alpha}))),
        (std::vector{255, 0, 127}));
    const std::string deep("\x40\x00\x40\x00\x40\x00\x80\x00", 8);
    EXPECT_EQ(
        greys(decode(png_of({.width = 1, .height = 1, .depth = 16, .colour_type = rgb_alpha_type, .rows = deep}))),
        (std::vector{159}));
}

TEST(Image, WhatIsWrittenReadsBack) {
    const testing::TemporaryFolder folder;
    for (const auto& [width, height] : {std::pair{1, 1}, {13, 9}, {300, 2}}) {
        Image image(width, height);
        for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>(i * 37);
        write_png(folder / "out.png", image);
        EXPECT_EQ(read_image(folder / "out.png"), image);
    }
    expect_error([&] { write_png(folder / "no" / "out.png", drawn_image()); }, {"out.png"});
    expect_error([&] { write_png(folder / "empty.png", Image()); }, {"empty.png", "0 × 0"});
    EXPECT_FALSE(fs::exists(folder / "empty.png"));
}

// Cut anywhere, a file is refused, but for what follows its pixels.
TEST(Image, TruncatedFiles) {
    for (const char* name : {"interlaced.png", "alpha.png", "palette.png", "s444.jpg", "progressive.jpg", "lossy.webp",
                             "lossless.webp", "lossyalpha.webp", "anim.webp", "opaque.gif", "alpha.gif"}) {
        const std::string whole = image_bytes(name);
        const Image image = decode(whole);
        int refused = 0;
        for (std::size_t length = 0; length < whole.size(); ++length) {
            try {
                EXPECT_EQ(decode(whole.substr(0, length)), image) << name << " cut to " << length;
            } catch (const Error& error) {
                ++refused;
                EXPECT_NE(std::string(error.what()).find("test image: "), std::string::npos) << error.what();
            }
        }
        EXPECT_GT(refused, static_cast<int>(whole.size()) / 2) << name;
        expect_error([&] { decode(whole.substr(0, whole.size() / 2)); }, {"test image"});
    }
}

TEST(Image, SizesAreCheckedBeforeDecoding) {
    for (const char* name : {"alpha.png", "s444.jpg", "lossy.webp", "anim.webp", "opaque.gif"}) {
        EXPECT_NO_THROW(decode(image_bytes(name), {.pixels = 13 * 9})) << name;
        expect_error([&] { decode(image_bytes(name), {.pixels = 13 * 9 - 1}); }, {"13 × 9 pixels", "116"});
        expect_error([&] { decode(image_bytes(name), {.bytes = 20}); }, {"test image", "bytes", "20"});
    }
    std::string jpeg = image_bytes("s444.jpg");
    const std::size_t frame = jpeg.find("\xff\xc0");
    ASSERT_NE(frame, std::string::npos);
    jpeg.replace(frame + 5, 4, std::string("\xfe\0\xfe\0", 4));
    expect_error([&] { decode(jpeg); }, {"JPEG", "65024 × 65024", "limit"});
    jpeg.replace(frame + 5, 4, std::string(4, '\0'));
    expect_error([&] { decode(jpeg); }, {"JPEG"});
    std::string gif = image_bytes("opaque.gif");
    gif.replace(6, 4, "\xff\xff\xff\xff");
    expect_error([&] { decode(gif); }, {"GIF", "65535 × 65535", "limit"});
    // A PNG's header carries a checksum, so a false size must be written with its own.
    const std::string big = png_of({.width = 200'000, .height = 1, .depth = 1, .rows = std::string(25'000, '\0')});
    expect_error([&] { decode(big, {.pixels = 199'999}); }, {"PNG", "200000 × 1"});
}

// A file of a few bytes may claim any size: what its kind cannot hold in them is refused before room is made.
TEST(Image, ClaimsThatTheFileCannotHold) {
    const std::string rows(1024, '\0');
    std::string png = png_of({.width = 8192, .height = 1, .depth = 1, .colour_type = grey_type, .rows = rows});
    EXPECT_NO_THROW(decode(png));
    std::string gif = image_bytes("opaque.gif");
    const std::size_t frame = gif.find(std::string("\x2c\0\0\0\0", 5));
    ASSERT_NE(frame, std::string::npos);
    gif.replace(frame + 5, 4, std::string("\0\x20\0\x20", 4));
    expect_error([&] { decode(gif); }, {"GIF", "the file ends before"});
    const testing::PngSource tall{.width = 1, .height = 1'000'000, .depth = 1, .rows = std::string(1'000'000, '\0')};
    png = png_of(tall);
    EXPECT_EQ(decode(png).height, 1'000'000);
    expect_error([&] { decode(png.substr(0, png.size() / 4)); }, {"PNG", "the file ends before"});
    expect_error([&] { decode(png, {.side = 999'999}); }, {"PNG", "1 × 1000000", "side", "999999"});
}

// Texts and profiles that unpack to gigabytes are passed over, and large chunks of other programs too.
TEST(Image, WhatStandsBesideThePixelsIsNotUnpacked) {
    const std::string text((8 << 20) - 1, 'a'), xmp = "XML:com.adobe.xmp";
    const std::string packed = text_chunk("k", text, PngText::Packed),
                      packed_xmp = text_chunk(xmp, text, PngText::PackedUtf8);
    ASSERT_LT(packed.size(), text.size() / 500);
    std::string beside;
    for (int i = 0; i < 500; ++i) beside += packed + packed_xmp;
    beside += text_chunk("k", text + text, PngText::Utf8);
    std::string bytes = image_bytes("rgb16.png");
    bytes.insert(8 + 25, beside);  // after the signature and the header
    EXPECT_EQ(decode(bytes), drawn_image());
    bytes.insert(bytes.find("IEND") - 4, text_chunk(xmp, "<x tiff:Orientation=\"6\"/>", PngText::Utf8));
    EXPECT_EQ(decode(bytes), upright(drawn_image(), 6));
}

TEST(Image, ScansAreCountedByThePixelsTheyPass) {
    const auto scans = [](int side, int count) {
        return decode(jpeg_of({.width = side, .height = side, .components = 3, .adobe_marker = false, .scans = count}));
    };
    EXPECT_EQ(scans(16, 66).width, 16);
    EXPECT_EQ(scans(16, 100).width, 16);
    expect_error([&] { scans(16, 101); }, {"test image", "JPEG", "more scans than"});
    expect_error([&] { scans(4096, 65); }, {"test image", "JPEG", "more scans than"});
}

TEST(Image, TheEndingSaysWhatIsWritten) {
    const testing::TemporaryFolder folder;
    Image image(40, 30);
    for (std::int64_t y = 0; y < 30; ++y)
        for (std::int64_t x = 0; x < 40 * 3; ++x) image.row(y)[x] = static_cast<std::uint8_t>(x * 2);
    for (const char* name : {"a.png", "a.PNG"}) {
        write_image(folder / name, image);
        EXPECT_TRUE(folder.read(name).starts_with("\x89PNG"));
        EXPECT_EQ(read_image(folder / name), image);
    }
    for (const char* name : {"a.jpg", "a.jpeg", "a.JPG"}) {
        write_image(folder / name, image);
        EXPECT_TRUE(folder.read(name).starts_with("\xff\xd8\xff"));
        EXPECT_LE(largest_difference(read_image(folder / name), image), 12);
    }
    for (const char* name : {"a.webp", "a", "png", "a.png.txt", ".png"}) {
        expect_error([&] { image_signature(folder / name); }, {name, ".png, .jpg or .jpeg"});
        expect_error([&] { write_image(folder / name, image); }, {name, ".png, .jpg or .jpeg"});
        EXPECT_FALSE(fs::exists(folder / name));
    }
    expect_error([&] { write_image(folder / "no" / "a.jpg", image); }, {"a.jpg"});
    expect_error([&] { write_jpeg(folder / "a.jpg", Image(70'000, 1)); }, {"a.jpg", "70000 × 1"});
}

TEST(Image, EverythingElseIsOneClearError) {
    const testing::TemporaryFolder folder;
    expect_error([&] { read_image(folder / "missing.png"); }, {"missing.png", "No such file"});
    expect_error([&] { read_image(folder.path()); }, {folder.path().string()});
    expect_error([&] { read_image(folder.write("empty.jpg", "")); }, {"empty.jpg", "empty"});
    expect_error([&] { read_image(folder.write("text.png", "hello")); }, {"text.png", "not an image"});
    expect_error([&] { read_image(folder.write("one.png", "\x89")); }, {"one.png", "not an image"});
    expect_error([&] { read_image(folder.write("b.png", "BM123456")); }, {"b.png", "BMP", "PNG, JPEG, WebP and GIF"});
    for (const std::string& head : {std::string("\x89PNG\r\n\x1a\n"), std::string("\xff\xd8\xff"),
                                    std::string("GIF89a"), std::string("RIFF\0\0\0\0WEBP", 12)})
        expect_error([&] { read_image(folder.write("head", head)); }, {"head: "});
    // Bytes beyond the header that are not what they should be.
    for (const char* name : {"alpha.png", "s444.jpg", "lossless.webp", "opaque.gif"}) {
        std::string bytes = image_bytes(name);
        std::fill(bytes.begin() + 16, bytes.end(), '\x5a');
        expect_error([&] { decode(bytes); }, {"test image: "});
    }
}

}  // namespace
}  // namespace tessera::formats
