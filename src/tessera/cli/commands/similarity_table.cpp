#include "tessera/cli/commands/similarity_table.h"

#include <fmt/format.h>

#include <cmath>

#include "tessera/cli/terminal/terminal.h"

namespace tessera::cli {
namespace {

double product(const float* a, const float* b, std::size_t width) {
    double sum = 0;
    for (std::size_t i = 0; i < width; ++i) sum += double{a[i]} * double{b[i]};
    return sum;
}

}  // namespace

Similarities similarities_of(const std::vector<std::string>& texts, const Tensor& vectors) {
    const auto numbers = vectors.to_vector<float>();
    const auto width = static_cast<std::size_t>(vectors.size(1));
    const auto row = [&](std::size_t text) { return numbers.data() + text * width; };
    std::vector<double> lengths;
    for (std::size_t i = 0; i < texts.size(); ++i) lengths.push_back(std::sqrt(product(row(i), row(i), width)));
    Similarities found{.texts = texts, .cosines = {}, .nearest = {}};
    for (std::size_t i = 0; i < texts.size(); ++i) {
        std::vector<double> cosines;
        std::size_t nearest = i == 0 ? 1 : 0;
        for (std::size_t j = 0; j < texts.size(); ++j) {
            const double lengths_of_both = lengths[i] * lengths[j];
            cosines.push_back(lengths_of_both > 0 ? product(row(i), row(j), width) / lengths_of_both : 0);
            if (j != i && cosines[j] > cosines[nearest]) nearest = j;
        }
        found.cosines.push_back(std::move(cosines));
        found.nearest.push_back(nearest);
    }
    return found;
}

std::string table_of(const Similarities& similarities) {
    std::string table = "    ";
    for (std::size_t i = 0; i < similarities.texts.size(); ++i) table += fmt::format("{:>8}", i + 1);
    table += "\n";
    for (std::size_t i = 0; i < similarities.texts.size(); ++i) {
        table += fmt::format("{:>4}", i + 1);
        for (std::size_t j = 0; j < similarities.texts.size(); ++j) {
            const std::string number = fmt::format("{:>8.3f}", similarities.cosines[i][j]);
            table += j == similarities.nearest[i] ? bold(number) : number;
        }
        table += fmt::format("  {}\n", one_line(similarities.texts[i]));
    }
    for (std::size_t i = 0; i < similarities.texts.size(); ++i) {
        const std::size_t nearest = similarities.nearest[i];
        table += fmt::format("nearest to {}: {} ({:.3f})  {}\n", i + 1, nearest + 1, similarities.cosines[i][nearest],
                             one_line(similarities.texts[nearest]));
    }
    return table;
}

formats::Json to_json(const Similarities& similarities) {
    formats::Json texts = formats::Json::array(), rows = formats::Json::array(), nearest = formats::Json::array();
    for (std::size_t i = 0; i < similarities.texts.size(); ++i) {
        texts.push_back(similarities.texts[i]);
        formats::Json row = formats::Json::array();
        for (const double cosine : similarities.cosines[i]) row.push_back(cosine);
        rows.push_back(std::move(row));
        nearest.push_back(static_cast<std::int64_t>(similarities.nearest[i]));
    }
    return formats::Json::object()
        .set("texts", std::move(texts))
        .set("cosines", std::move(rows))
        .set("nearest", std::move(nearest));
}

}  // namespace tessera::cli
