#include "tessera/training/tokenizer_spec.h"

#include <algorithm>
#include <set>

#include "tessera/core/error.h"
#include "tessera/core/mapped_file.h"
#include "tessera/data/lines.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/binary_data.h"
#include "tessera/formats/json.h"
#include "tessera/scenes/scenes.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/stages/byte_level.h"
#include "tessera/tokenizers/training/trained_tokenizer.h"

namespace tessera::training {
namespace {

namespace fs = std::filesystem;
using formats::Json;

constexpr const char* named[] = {"<pad>", "</s>", "<s>", "<unk>", "<mask>"};
constexpr const char* roles[] = {"pad_token", "eos_token", "bos_token", "unk_token", "mask_token"};

const char* name_of(TokenizerKind kind) { return tokenizer_kind_names[static_cast<std::size_t>(kind)]; }
bool is_learned(TokenizerKind kind) { return kind >= TokenizerKind::Bpe; }

using Pieces = std::set<std::string>;

void collect_words(std::string_view text, Pieces& words) {
    const std::string valid = text::repaired_utf8(text);
    tokenizers::word_splitter()->split({valid, true}, [&](tokenizers::Piece piece) { words.emplace(piece.text); });
}

void collect_characters(std::string_view text, Pieces& characters) {
    while (!text.empty()) {
        const text::Utf8Step step = text::utf8_step(text);
        if (step.kind == text::Utf8Step::Whole) characters.emplace(text.substr(0, step.length));
        text.remove_prefix(step.length);
    }
}

using Collect = void(std::string_view text, Pieces& pieces);

// Of a line with an image, its path is no text.
void collect_texts(const Json& value, Collect& collect, Pieces& pieces) {
    if (value.is_string()) collect(value.as_string(), pieces);
    if (value.is_object())
        for (const Json::Member& member : value.members())
            if (member.key != "image") collect_texts(member.value, collect, pieces);
    if (value.is_array())
        for (const Json& item : value.items()) collect_texts(item, collect, pieces);
}

constexpr std::int64_t scenes_read = 2000;  // of one set: more than enough to meet every character and word

Pieces pieces_of(const std::vector<std::string>& data, Collect& collect) {
    Pieces pieces;
    for (const fs::path& file : data::files_ending(data, {".txt", ".text", ".md", ".jsonl", ".ndjson", ".tsv"})) {
        if (scenes::is_scenes_file(file)) {
            const scenes::Scenes scenes(file);
            for (std::int64_t i = 0; i < std::min(scenes_read, scenes.size()); ++i) {
                const scenes::Scene scene = scenes.texts_at(i);
                collect(text_of(scene.prefix, "\n", scene.suffix), pieces);
            }
        } else if (data::is_json_lines(file)) {
            const data::Lines lines({file});
            for (std::int64_t i = 0; i < lines.size(); ++i)
                collect_texts(Json::parse(lines.text(i), lines.where(i)), collect, pieces);
        } else {
            const MappedFile content(file);
            const std::string_view text(reinterpret_cast<const char*>(content.data()), content.bytes());
            formats::check_is_text(text, file.string());
            collect(text, pieces);
        }
    }
    return pieces;
}

Pieces all_bytes() {
    Pieces bytes;
    for (int byte = 0; byte < 256; ++byte)
        bytes.insert(tokenizers::to_byte_characters(std::string(1, static_cast<char>(byte))));
    return bytes;
}

// Pairs without merges: every character is its own token.
Json pairs_without_merges(Json vocabulary, bool has_unknown) {
    return Json::object()
        .set("type", "BPE")
        .set("dropout", {})
        .set("unk_token", has_unknown ? Json(named[3]) : Json())
        .set("continuing_subword_prefix", {})
        .set("end_of_word_suffix", {})
        .set("fuse_unk", false)
        .set("byte_fallback", false)
        .set("vocab", std::move(vocabulary))
        .set("merges", Json::array());
}

Json list_of_words(Json vocabulary) {
    return Json::object().set("type", "WordLevel").set("vocab", std::move(vocabulary)).set("unk_token", named[3]);
}

Json added_token(std::int64_t id, const std::string& content) {
    return Json::object()
        .set("id", id)
        .set("content", content)
        .set("single_word", false)
        .set("lstrip", false)
        .set("rstrip", false)
        .set("normalized", false)
        .set("special", true);
}

Json byte_level() {
    return Json::object()
        .set("type", "ByteLevel")
        .set("add_prefix_space", false)
        .set("trim_offsets", false)
        .set("use_regex", false);
}

// The parts of tokenizer.json that differ.
struct Parts {
    Json pre_tokenizer = {}, decoder = {}, model = {};
};

Parts parts_of(TokenizerKind kind, Json vocabulary) {
    switch (kind) {
        case TokenizerKind::Bytes:
            return {byte_level(), byte_level(), pairs_without_merges(std::move(vocabulary), false)};
        case TokenizerKind::Words:
            return {Json::object().set("type", "Whitespace"), Json(), list_of_words(std::move(vocabulary))};
        default: break;
    }
    return {Json(), Json::object().set("type", "Fuse"), pairs_without_merges(std::move(vocabulary), true)};
}

std::vector<std::string> sentinel_tokens(std::int64_t count) {
    std::vector<std::string> tokens;
    for (std::int64_t i = 0; i < count; ++i) tokens.push_back(text_of("<extra_id_", i, ">"));
    return tokens;
}

void learn_tokenizer(const TokenizerSpec& wanted, const fs::path& folder) {
    const std::vector<fs::path> corpus = data::files_ending(wanted.data, {".txt", ".text", ".md", ".tsv"});
    for (const fs::path& file : corpus)
        check(!data::is_json_lines(file), file.string(), ": a ", name_of(wanted.kind),
              " tokenizer is made from plain texts; learn one with `tessera tokenizer train` and name its folder");
    tokenizers::TokenizerTraining training{
        .kind = name_of(wanted.kind), .vocabulary = wanted.vocabulary, .report = wanted.report};
    const tokenizers::TokenizerFrame frame = tokenizers::frame_of(training);
    for (const char* token : {"<pad>", "</s>", "<s>"}) {
        const bool has_own = wanted.kind == TokenizerKind::Bpe || wanted.kind == TokenizerKind::Wordpiece ||
                             std::find(frame.special.begin(), frame.special.end(), token) != frame.special.end();
        if (!has_own) training.special.emplace_back(token);
    }
    for (std::string& sentinel : sentinel_tokens(wanted.sentinels)) training.special.push_back(std::move(sentinel));
    const tokenizers::TrainedTokenizer trained = tokenizers::train_tokenizer(corpus, training);
    fs::create_directories(folder);
    formats::write_file(folder / "tokenizer.json", trained.tokenizer_json);
    formats::write_file(folder / "tokenizer_config.json", trained.config_json);
}

}  // namespace

void make_tokenizer(const TokenizerSpec& wanted, const fs::path& folder) {
    if (is_learned(wanted.kind)) return learn_tokenizer(wanted, folder);
    std::vector<std::string> special(std::begin(named), std::end(named));
    for (std::string& sentinel : sentinel_tokens(wanted.sentinels)) special.push_back(std::move(sentinel));
    const Pieces pieces = wanted.kind == TokenizerKind::Bytes   ? all_bytes()
                          : wanted.kind == TokenizerKind::Words ? pieces_of(wanted.data, collect_words)
                                                                : pieces_of(wanted.data, collect_characters);
    Json vocabulary = Json::object(), added = Json::array(), sentinels = Json::array();
    for (std::size_t id = 0; id < special.size(); ++id) {
        vocabulary.set(special[id], id);
        added.push_back(added_token(static_cast<std::int64_t>(id), special[id]));
        if (id >= std::size(named)) sentinels.push_back(special[id]);
    }
    std::size_t next = special.size();
    for (const std::string& piece : pieces)
        if (!vocabulary.find(piece)) vocabulary.set(piece, next++);
    Parts parts = parts_of(wanted.kind, std::move(vocabulary));
    fs::create_directories(folder);
    Json config = Json::object().set("tokenizer_class", "PreTrainedTokenizerFast");
    for (std::size_t i = 0; i < std::size(named); ++i) config.set(roles[i], named[i]);
    config.set("additional_special_tokens", std::move(sentinels)).set("clean_up_tokenization_spaces", false);
    config.write(folder / "tokenizer_config.json");
    Json::object()
        .set("version", "1.0")
        .set("truncation", {})
        .set("padding", {})
        .set("added_tokens", std::move(added))
        .set("normalizer", {})
        .set("pre_tokenizer", std::move(parts.pre_tokenizer))
        .set("post_processor", {})
        .set("decoder", std::move(parts.decoder))
        .set("model", std::move(parts.model))
        .write(folder / "tokenizer.json");
}

}  // namespace tessera::training
