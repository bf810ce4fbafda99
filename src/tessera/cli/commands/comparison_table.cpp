#include "tessera/cli/commands/comparison_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tessera/cli/terminal/terminal.h"

namespace tessera::cli {
namespace {

using evaluation::RunStats;

struct Column {
    std::string head;
    std::vector<std::string> cells = {};  // empty: not known

    bool is_known() const {
        return std::any_of(cells.begin(), cells.end(), [](const std::string& cell) { return !cell.empty(); });
    }
};

std::string rounded(double value, int digits) {
    return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "";
}

std::string rate(double value) {
    return std::isfinite(value) ? with_separators(static_cast<std::int64_t>(std::llround(value))) : "";
}

bool all_are_active(const std::vector<RunStats>& runs) {
    return std::all_of(runs.begin(), runs.end(),
                       [](const RunStats& run) { return run.active_parameters == run.parameters; });
}

std::string after(const std::vector<RunStats>& runs) {
    std::int64_t context = 0;
    for (const RunStats& run : runs) context = std::max(context, run.context);
    return with_separators(context);
}

// Runs may be shorter than what the mean is taken over.
std::string mean_loss_head(const std::vector<RunStats>& runs) {
    std::int64_t fewest = training::RecentLoss::most_steps, most = 0;
    for (const RunStats& run : runs) {
        fewest = std::min(fewest, run.loss.steps);
        most = std::max(most, run.loss.steps);
    }
    return text_of("training loss (last ", fewest == most ? "" : "at most ", most, " steps)");
}

std::vector<Column> columns_of(const std::vector<RunStats>& runs, const std::string& unit) {
    std::vector<Column> columns{{"run"},
                                {"parameters"},
                                {"active"},
                                {"FLOP a token"},
                                {mean_loss_head(runs)},
                                {"validation loss"},
                                {"bits a character"},
                                {"accuracy"},
                                {text_of("training ", unit, "/s")},
                                {"cache bytes a token"},
                                {text_of("cache after ", after(runs))},
                                {"decoded tokens/s"}};
    const bool has_idle = !all_are_active(runs);
    for (const RunStats& run : runs) {
        const bool decodes = std::isfinite(run.decoded_per_second);
        const std::string cells[] = {one_line(run.name),
                                     with_separators(run.parameters),
                                     has_idle ? with_separators(run.active_parameters) : "",
                                     run.operations > 0 ? in_metric(run.operations) : "",
                                     rounded(run.loss.mean, 4),
                                     rounded(run.validation_loss, 4),
                                     rounded(run.bits_per_character, 3),
                                     std::isfinite(run.accuracy) ? rounded(100 * run.accuracy, 2) + " %" : "",
                                     rate(run.units_per_second),
                                     decodes ? with_separators(run.cache_bytes_per_token) : "",
                                     decodes ? in_bytes(static_cast<double>(run.cache_bytes)) : "",
                                     rate(run.decoded_per_second)};
        for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(cells[i]);
    }
    std::erase_if(columns, [](const Column& column) { return !column.is_known(); });
    return columns;
}

// Letters, not bytes.
std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, bool to_the_right) {
    const std::string space(width - std::min(width, width_of(text)), ' ');
    return to_the_right ? space + text : text + space;
}

std::string row_of(const std::vector<Column>& columns, const std::function<std::string(const Column&)>& cell) {
    std::string row = "|";
    for (const Column& column : columns) {
        std::size_t width = width_of(column.head);
        for (const std::string& each : column.cells) width = std::max(width, width_of(each));
        row += text_of(" ", padded(cell(column), width, &column != &columns.front()), " |");
    }
    return row + "\n";
}

}  // namespace

std::string markdown_of(const std::vector<RunStats>& runs, const std::string& unit) {
    const std::vector<Column> columns = columns_of(runs, unit);
    std::string table = row_of(columns, [](const Column& column) { return column.head; }) + "|";
    for (const Column& column : columns) table += &column == &columns.front() ? "---|" : "--:|";
    table += "\n";
    for (std::size_t i = 0; i < runs.size(); ++i)
        table += row_of(columns, [i](const Column& column) { return column.cells[i]; });
    return table;
}

formats::Json to_json(const std::vector<RunStats>& runs) {
    using formats::Json;
    Json all = Json::array();
    for (const RunStats& run : runs) {
        Json one = Json::object();
        const auto set_known = [&](const char* key, double value) {
            if (std::isfinite(value)) one.set(key, value);
        };
        one.set("name", run.name).set("steps", run.steps).set("parameters", run.parameters);
        one.set("active_parameters", run.active_parameters).set("operations_per_token", run.operations);
        set_known("training_loss", run.loss.mean);
        if (run.loss.steps > 0) one.set("training_loss_steps", run.loss.steps);
        set_known("validation_loss", run.validation_loss);
        set_known("bits_per_character", run.bits_per_character);
        set_known("accuracy", run.accuracy);
        set_known("training_units_per_second", run.units_per_second);
        if (std::isfinite(run.decoded_per_second))
            one.set("cache_bytes_per_token", run.cache_bytes_per_token)
                .set("context", run.context)
                .set("cache_bytes", run.cache_bytes)
                .set("decoded_tokens_per_second", run.decoded_per_second);
        all.push_back(std::move(one));
    }
    return Json::object().set("runs", std::move(all));
}

}  // namespace tessera::cli
