#include "tessera/training/token_corpus.h"

#include "tessera/data/documents.h"

namespace tessera::training {
namespace {

namespace fs = std::filesystem;

// What the tokens depend on: files by path, size and time, and the tokenizer by its own files.
std::string stamp_of(const std::vector<fs::path>& files, const ObjectiveInputs& inputs) {
    formats::Json stamp = formats::Json::object();
    formats::Json list = formats::Json::array();
    for (const fs::path& file : files)
        list.push_back(text_of(fs::absolute(file).string(), " ", fs::file_size(file), " ",
                               fs::last_write_time(file).time_since_epoch().count()));
    stamp.set("files", std::move(list)).set("field", inputs.recipe.field).set("separator", inputs.recipe.separator);
    stamp.set("tokenizer", inputs.tokenizer->fingerprint);
    return stamp.dump(0);
}

// What the tokenizer cannot encode is named by its file; what the writer cannot write is not that file's fault.
void add_document(data::TokenFileWriter& writer, const tokenizers::Tokenizer& tokenizer, std::string_view text,
                  const fs::path& file) {
    const std::optional<std::int64_t> end = tokenizer.special.eos;
    std::int64_t last = -1;  // no token's id
    bool writes = false;
    try {
        tokenizer.encode_in_parts(text, [&](std::span<const std::int64_t> ids) {
            writes = true;
            writer.add(ids);
            writes = false;
            last = ids.back();
        });
    } catch (const Error& error) {
        if (writes) throw;
        fail(file.string(), ": ", error.what());
    }
    if (end && last != *end) writer.add({&*end, 1});
    writer.end_document();
}

}  // namespace

data::TokenFile tokens_of(const ObjectiveInputs& inputs) {
    check(inputs.tokenizer != nullptr, inputs.recipe.resolved.source(),
          ": tokenizer: none given, and the model has none");
    const std::vector<fs::path> files = data::text_files(inputs.data);
    const std::string stamp = stamp_of(files, inputs);
    const fs::path path = inputs.cache / text_of("tokens-", std::hash<std::string>{}(stamp), ".bin");
    return data::open_or_make_token_file(path, stamp, [&](data::TokenFileWriter& writer) {
        const auto total = static_cast<double>(data::bytes_of_files(files));
        data::DocumentOptions options{.field = inputs.recipe.field, .separator = inputs.recipe.separator};
        std::int64_t before = 0;
        for (const fs::path& file : files) {
            if (inputs.on_progress)
                options.on_read = [&](std::int64_t bytes) {
                    inputs.on_progress(static_cast<double>(before + bytes), total);
                };
            data::for_each_document(
                {file}, options, [&](std::string_view text) { add_document(writer, *inputs.tokenizer, text, file); });
            before += data::bytes_of_files({file});
        }
    });
}

data::TokenFile tokenised(const ObjectiveInputs& inputs) {
    data::TokenFile tokens = tokens_of(inputs);
    const std::vector<fs::path> files = data::text_files(inputs.data);
    const std::string others = files.size() > 1 ? text_of(" and ", files.size() - 1, " more") : std::string();
    check(static_cast<std::int64_t>(tokens.tokens().size()) >= inputs.recipe.length, files.front().string(), others,
          ": ", tokens.tokens().size(), " tokens are fewer than one sequence (data.length is ", inputs.recipe.length,
          ")");
    return tokens;
}

}  // namespace tessera::training
