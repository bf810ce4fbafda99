// Any bytes are JSON lines, lines of columns and documents, or one Error each; whatever opens can be read from its
// first example to its last.
#include <cstdlib>

#include "scratch_folder.h"
#include "tessera/core/error.h"
#include "tessera/data/documents.h"
#include "tessera/data/image_texts.h"
#include "tessera/data/labelled_texts.h"
#include "tessera/data/text_pairs.h"

using namespace tessera;

namespace {

template <class Read>
void try_to(const Read& read) {
    try {
        read();
    } catch (const Error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    static const ScratchFolder folder;
    const std::filesystem::path json = folder.write("fuzz.jsonl", bytes, size);
    const std::filesystem::path columns = folder.write("fuzz.tsv", bytes, size);
    for (const std::filesystem::path& file : {json, columns})
        try_to([&] {
            const data::LabelledTexts texts({file});
            if (texts.labels().size() > static_cast<std::size_t>(texts.size())) std::abort();
        });
    try_to([&] {
        const data::TextPairs pairs({columns});
        for (std::int64_t i = 0; i < pairs.size(); ++i)
            if (pairs.at(i).source.empty() || pairs.at(i).target.empty()) std::abort();
    });
    try_to([&] { data::ImageTexts({json}, {"prefix", "suffix"}); });
    for (const std::filesystem::path& file : {json, columns})
        try_to([&] {
            std::size_t read = 0;
            data::for_each_document({file}, {.separator = "\n\n"}, [&](std::string_view text) { read += text.size(); });
            if (read > size) std::abort();  // an escape is longer than what it stands for
        });
    return 0;
}
