// Image files with the lengths and checksums that they must have, of the fuzzer's fields and data: past the outermost
// checks, where changed bytes alone seldom come.
#pragma once

#include "taken_bytes.h"

namespace made {

inline std::string big_endian(std::uint32_t value, int bytes) {
    std::string text;
    for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i));
    return text;
}

inline std::string little_endian(std::uint32_t value, int bytes) {
    const std::string text = big_endian(value, bytes);
    return {text.rbegin(), text.rend()};
}

inline std::uint32_t crc32(const std::string& text) {
    std::uint32_t crc = ~std::uint32_t{0};
    for (const char c : text) {
        crc ^= static_cast<std::uint8_t>(c);
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

// Stored as it is, in the frame of zlib.
inline std::string zlib_of(const std::string& text) {
    std::uint32_t a = 1, b = 0;
    for (const char c : text) {
        a = (a + static_cast<std::uint8_t>(c)) % 65521;
        b = (b + a) % 65521;
    }
    const auto count = static_cast<std::uint32_t>(text.size());
    return "\x78\x01\x01" + little_endian(count, 2) + little_endian(~count & 0xffff, 2) + text +
           big_endian(b << 16 | a, 4);
}

inline std::string png_chunk(const std::string& name, const std::string& data) {
    return big_endian(static_cast<std::uint32_t>(data.size()), 4) + name + data + big_endian(crc32(name + data), 4);
}

inline std::uint32_t side(TakenBytes& in) {
    constexpr std::uint32_t sides[] = {0, 1, 2, 3, 7, 8, 9, 64, 255, 4096, 65535, 1u << 20, 1u << 31};
    const std::uint8_t choice = in.byte();
    return choice < 128 ? choice % 40 + 1 : sides[choice % std::size(sides)];
}

inline std::string png(TakenBytes& in) {
    constexpr std::uint8_t depths[] = {8, 16, 1, 2, 4, 3}, colours[] = {2, 6, 0, 4, 3, 5};
    const std::uint32_t width = side(in), height = side(in);
    std::string file = "\x89PNG\r\n\x1a\n";
    std::string header = big_endian(width, 4) + big_endian(height, 4);
    header += static_cast<char>(in.one_of(depths));
    header += static_cast<char>(in.one_of(colours));
    header += std::string("\0\0", 2);
    header += static_cast<char>(in.byte() % 3);
    file += png_chunk("IHDR", header);
    const char* const names[] = {"PLTE", "tRNS", "eXIf", "iTXt", "zTXt", "iCCP", "gAMA", "acTL", "fdAT", "IDAT"};
    for (int chunks = in.byte() % 6; chunks > 0; --chunks) {
        const std::string name = in.one_of(names);
        std::string data = in.text(in.byte());
        if (name == "iTXt") data = std::string("XML:com.adobe.xmp\0\0\0\0\0", 22) + data;
        file += png_chunk(name, data);
    }
    std::string rows = in.text(4096);
    rows.resize(std::min<std::size_t>(65535, rows.size() + (std::size_t{width % 64} * 8 + 1) * (height % 64)));
    const std::string packed = zlib_of(rows);
    const std::size_t cut = in.byte() % (packed.size() + 1);
    return file + png_chunk("IDAT", packed.substr(0, cut)) + png_chunk("IDAT", packed.substr(cut)) +
           png_chunk("IEND", "");
}

inline std::string jpeg_segment(int marker, const std::string& data) {
    return std::string("\xff") + static_cast<char>(marker) +
           big_endian(static_cast<std::uint32_t>(data.size() + 2), 2) + data;
}

inline std::string jpeg(TakenBytes& in) {
    std::string file = "\xff\xd8";
    constexpr std::uint8_t frames[] = {0xc0, 0xc2, 0xc1, 0xc9, 0xca, 0xc3};
    const int components = in.byte() % 5;
    for (int table = 0; table < 4; ++table) {
        file += jpeg_segment(0xdb, static_cast<char>(table) + std::string(64, '\1'));
        // Sixteen codes of five bits and more, as many lengths as a table may have.
        std::string codes(16, '\0'), values = in.text(12);
        values.resize(12);
        codes[3] = 12;
        for (const int kind : {0, 0x10}) file += jpeg_segment(0xc4, static_cast<char>(kind + table) + codes + values);
    }
    for (int segments = in.byte() % 4; segments > 0; --segments)
        file += jpeg_segment(0xe0 + in.byte() % 16, std::string("Exif\0\0", 6) + in.text(in.byte()));
    const std::uint32_t width = side(in), height = side(in);
    std::string frame = "\x08" + big_endian(height & 0xffff, 2) + big_endian(width & 0xffff, 2);
    frame += static_cast<char>(components);
    for (int c = 0; c < components; ++c) {
        frame += static_cast<char>(c + 1);
        frame += static_cast<char>(in.byte() % 5 * 16 + in.byte() % 5);
        frame += static_cast<char>(c % 4);
    }
    file += jpeg_segment(in.one_of(frames), frame);
    for (int scans = in.byte() % 120 + 1; scans > 0; --scans) {
        const int count = in.byte() % 5;
        std::string scan(1, static_cast<char>(count));
        for (int c = 0; c < count; ++c) scan += std::string(1, static_cast<char>(in.byte() % 5)) + '\x11';
        scan += static_cast<char>(in.byte() % 64);
        scan += static_cast<char>(in.byte() % 64);
        scan += static_cast<char>(in.byte() % 3);
        file += jpeg_segment(0xda, scan) + in.text(in.byte());
        if (in.is_empty()) break;
    }
    return file + "\xff\xd9";
}

inline std::string gif_blocks(const std::string& data) {
    std::string blocks;
    for (std::size_t at = 0; at < data.size(); at += 255)
        blocks += static_cast<char>(std::min<std::size_t>(255, data.size() - at)) + data.substr(at, 255);
    return blocks + '\0';
}

inline std::string gif(TakenBytes& in) {
    std::string file = "GIF89a" + little_endian(side(in) & 0xffff, 2) + little_endian(side(in) & 0xffff, 2);
    const int colours = in.byte() % 8;
    file += static_cast<char>(in.byte() % 2 * 0x80 + colours);
    file += std::string("\0\0", 2);
    if ((static_cast<std::uint8_t>(file[10]) & 0x80) != 0) file += std::string(std::size_t{3} << (colours + 1), '\x55');
    for (int parts = in.byte() % 4 + 1; parts > 0; --parts) {
        if (in.byte() % 2 == 0) file += std::string("!\xf9\x04") + in.text(4) + '\0';
        if (in.byte() % 4 == 0) file += "!" + in.text(1) + gif_blocks(in.text(in.byte()));
        file += "," + little_endian(in.byte(), 2) + little_endian(in.byte(), 2) + little_endian(side(in) & 0xffff, 2) +
                little_endian(side(in) & 0xffff, 2);
        file += static_cast<char>(in.byte() & 0x47);
        file += static_cast<char>(in.byte() % 13);
        file += gif_blocks(in.text(in.word()));
    }
    return file + ";";
}

inline std::string webp_chunk(const std::string& name, const std::string& data) {
    return name + little_endian(static_cast<std::uint32_t>(data.size()), 4) + data + std::string(data.size() % 2, '\0');
}

inline std::string webp_image(TakenBytes& in) {
    const std::uint32_t width = side(in) & 0x3fff, height = side(in) & 0x3fff;
    if (in.byte() % 2 == 0)
        return webp_chunk("VP8L", "\x2f" + little_endian(width | height << 14, 4) + in.text(in.word()));
    const std::string alpha = in.byte() % 2 == 0 ? webp_chunk("ALPH", in.text(in.byte())) : "";
    return alpha + webp_chunk("VP8 ", in.text(3) + "\x9d\x01\x2a" + little_endian(width, 2) + little_endian(height, 2) +
                                          in.text(in.word()));
}

inline std::string webp(TakenBytes& in) {
    std::string body;
    const int flags = in.byte();
    if (flags % 2 == 0) {
        body += webp_chunk("VP8X", static_cast<char>(flags) + std::string(3, '\0') + little_endian(side(in), 3) +
                                       little_endian(side(in), 3));
        if (flags % 4 == 0) body += webp_chunk("ANIM", std::string(6, '\0'));
        for (int frames = in.byte() % 3; frames > 0; --frames)
            body += webp_chunk("ANMF", little_endian(in.byte(), 3) + little_endian(in.byte(), 3) +
                                           little_endian(side(in), 3) + little_endian(side(in), 3) + in.text(4) +
                                           webp_image(in));
        body += webp_chunk("EXIF", in.text(in.byte()));
    }
    body += webp_image(in);
    return "RIFF" + little_endian(static_cast<std::uint32_t>(body.size() + 4), 4) + "WEBP" + body;
}

}  // namespace made
