#include "tessera/scenes/contact_sheet.h"

#include <algorithm>

#include "tessera/core/error.h"
#include "tessera/data/bitmap_font.h"
#include "tessera/data/detections.h"
#include "tessera/formats/image/resize.h"

namespace tessera::scenes {
namespace {

constexpr std::int64_t least_side = 224;  // small images are shown in whole multiples of their pixels
constexpr std::int64_t margin = 8, line_height = data::glyph_height + 3, letter = data::glyph_width + 1;
constexpr std::array<std::uint8_t, 3> faint = {110, 110, 110}, black = {0, 0, 0};

// Cut at spaces where a line has one.
std::vector<std::string> lines_of(const std::string& text, std::size_t longest) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t end = std::min(begin + longest, text.size());
        const std::size_t space = end < text.size() ? text.rfind(' ', end) : text.npos;
        if (space != text.npos && space > begin) end = space;
        lines.push_back(text.substr(begin, end - begin));
        begin = end + (end < text.size() && text[end] == ' ' ? 1 : 0);
    }
    return lines;
}

struct Cell {
    formats::Image image;
    std::vector<std::string> question, answer;

    std::int64_t height() const {
        return image.height + margin + static_cast<std::int64_t>(question.size() + answer.size()) * line_height;
    }
};

Cell cell_of(const SheetEntry& entry) {
    const std::int64_t times = std::max<std::int64_t>(1, least_side / std::max<std::int64_t>(entry.image.width, 1));
    Cell cell{formats::resize(entry.image, entry.image.width * times, entry.image.height * times,
                              formats::Resampling::Nearest),
              {},
              {}};
    data::draw(cell.image, data::read_detections(entry.answer));
    const auto longest = static_cast<std::size_t>(std::max<std::int64_t>(1, cell.image.width / letter));
    cell.question = lines_of(entry.question, longest);
    cell.answer = lines_of(entry.answer, longest);
    return cell;
}

void paste(formats::Image& sheet, const Cell& cell, std::int64_t left, std::int64_t top) {
    for (std::int64_t y = 0; y < cell.image.height; ++y)
        std::copy_n(cell.image.row(y), cell.image.width * 3, sheet.row(top + y) + left * 3);
    top += cell.image.height + 4;
    for (const auto& [lines, colour] : {std::pair(&cell.question, faint), std::pair(&cell.answer, black)})
        for (const std::string& line : *lines) {
            data::write_label(sheet, line, {left, top, 1, colour});
            top += line_height;
        }
}

}  // namespace

formats::Image contact_sheet(std::span<const SheetEntry> entries, std::int64_t columns) {
    check(!entries.empty() && columns > 0, "a contact sheet of ", entries.size(), " images in ", columns, " columns");
    std::vector<Cell> cells;
    for (const SheetEntry& entry : entries) cells.push_back(cell_of(entry));
    const std::size_t across = std::min(cells.size(), static_cast<std::size_t>(columns));
    std::int64_t width = 0;
    for (const Cell& cell : cells) width = std::max(width, cell.image.width);
    std::vector<std::int64_t> tops{margin};
    for (std::size_t i = 0; i < cells.size(); i += across) {
        std::int64_t height = 0;
        for (std::size_t j = i; j < std::min(i + across, cells.size()); ++j)
            height = std::max(height, cells[j].height());
        tops.push_back(tops.back() + height + margin);
    }
    formats::Image sheet(margin + static_cast<std::int64_t>(across) * (width + margin), tops.back());
    std::fill(sheet.pixels.begin(), sheet.pixels.end(), std::uint8_t{255});
    for (std::size_t i = 0; i < cells.size(); ++i)
        paste(sheet, cells[i], margin + static_cast<std::int64_t>(i % across) * (width + margin), tops[i / across]);
    return sheet;
}

}  // namespace tessera::scenes
