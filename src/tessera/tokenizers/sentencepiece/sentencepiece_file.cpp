#include "tessera/tokenizers/sentencepiece/sentencepiece_file.h"

#include <bitset>
#include <unordered_set>

#include "tessera/core/error.h"
#include "tessera/formats/byte_reader.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/limits.h"
#include "tessera/tokenizers/sentencepiece/byte_pieces.h"
#include "tessera/tokenizers/sentencepiece/protobuf.h"
#include "tessera/tokenizers/structures/hash.h"
#include "tessera/tokenizers/structures/vocabulary.h"

namespace tessera::tokenizers {
namespace {

using Kind = SentencePieceFile::Kind;

SentencePieceFile::Piece read_piece(std::string_view bytes, const std::string& source) {
    SentencePieceFile::Piece piece;
    for (ProtobufReader field(bytes, source); field.next();) switch (field.number()) {
            case 1: piece.text = field.bytes(); break;
            case 2: piece.score = field.number32(); break;
            case 3:
                check(field.integer() >= 1 && field.integer() <= 6, source, ": pieces.type: unknown kind ",
                      field.integer());
                piece.kind = static_cast<Kind>(field.integer());
                break;
            default: break;
        }
    return piece;
}

void read_trainer(std::string_view bytes, const std::string& source, SentencePieceFile& file) {
    for (ProtobufReader field(bytes, source); field.next();) switch (field.number()) {
            case 3:
                check(field.integer() == 1 || field.integer() == 2, source,
                      ": trainer_spec.model_type: ", field.integer(), " is neither unigram (1) nor BPE (2)");
                file.algorithm = static_cast<SentencePieceFile::Algorithm>(field.integer());
                break;
            case 24: file.space_as_suffix = field.boolean(); break;
            case 35: file.byte_fallback = field.boolean(); break;
            case 41: file.bos = static_cast<std::int32_t>(field.integer()); break;
            case 42: file.eos = static_cast<std::int32_t>(field.integer()); break;
            case 43: file.padding = static_cast<std::int32_t>(field.integer()); break;
            case 44:
                file.unknown_surface = field.bytes();
                check(file.unknown_surface.size() <= limits::longest_surface, source,
                      ": trainer_spec.unk_surface: longer than ", limits::longest_surface, " bytes");
                break;
            default: break;
        }
}

void read_normalizer(std::string_view bytes, const std::string& source, SentencePieceFile& file) {
    for (ProtobufReader field(bytes, source); field.next();) switch (field.number()) {
            case 2: file.character_map = field.bytes(); break;
            case 3: file.add_dummy_prefix = field.boolean(); break;
            case 4: file.remove_extra_spaces = field.boolean(); break;
            case 5: file.escape_spaces = field.boolean(); break;
            default: break;
        }
}

void check_pieces(SentencePieceFile& file, const std::string& source) {
    std::unordered_set<std::string_view, SeededHash> seen[2];  // pieces that text can be cut into, and the others
    std::bitset<256> bytes;
    for (std::size_t id = 0; id < file.pieces.size(); ++id) {
        const auto& [text, score, kind] = file.pieces[id];
        check(!text.empty(), source, ": piece ", id, ": is empty");
        check(text::is_valid_utf8(text), source, ": piece ", id, ": is no UTF-8");
        check(score == score, source, ": piece ", id, ": has no score");
        const bool plain = kind == Kind::Normal || kind == Kind::UserDefined || kind == Kind::Unused;
        check(seen[plain].insert(text).second, source, ": piece ", id, ": ", formats::shown(text), " is given twice");
        if (kind == Kind::Unknown) {
            check(file.unknown < 0, source, ": piece ", id, ": a second unknown piece");
            file.unknown = static_cast<std::int64_t>(id);
        }
        if (kind != Kind::Byte) continue;
        const auto byte = byte_of_piece(text);
        check(byte.has_value(), source, ": piece ", id, ": ", formats::shown(text), " is no byte");
        bytes.set(static_cast<unsigned char>(*byte));
    }
    check(file.unknown >= 0, source, ": no piece is the unknown one");
    check(!file.byte_fallback || bytes.all(), source, ": byte_fallback with ", bytes.count(), " of 256 bytes");
}

// The default ids stand in no file; a role is real where its piece is there.
void check_roles(SentencePieceFile& file) {
    for (std::int64_t* role : {&file.bos, &file.eos, &file.padding}) {
        const bool real = *role >= 0 && *role < static_cast<std::int64_t>(file.pieces.size()) &&
                          file.pieces[static_cast<std::size_t>(*role)].kind != Kind::Normal;
        if (!real) *role = -1;
    }
}

}  // namespace

SentencePieceFile parse_sentencepiece(std::string_view bytes, const std::string& source) {
    SentencePieceFile file{.bos = 1, .eos = 2};
    for (ProtobufReader field(bytes, source); field.next();) switch (field.number()) {
            case 1:
                check(static_cast<std::int64_t>(file.pieces.size()) < Vocabulary::most_ids, source, ": more than ",
                      Vocabulary::most_ids, " pieces");
                file.pieces.push_back(read_piece(field.bytes(), source));
                break;
            case 2: read_trainer(field.bytes(), source, file); break;
            case 3: read_normalizer(field.bytes(), source, file); break;
            default: break;
        }
    check(!file.pieces.empty(), source, ": holds no pieces: no model of SentencePiece");
    check_pieces(file, source);
    check_roles(file);
    return file;
}

std::string written(const SentencePieceFile& file) {
    ProtobufWriter whole, trainer, normalizer;
    for (const SentencePieceFile::Piece& piece : file.pieces) {
        ProtobufWriter one;
        one.bytes(1, piece.text);
        one.number32(2, piece.score);
        one.integer(3, static_cast<std::int64_t>(piece.kind));
        whole.bytes(1, one.text());
    }
    trainer.integer(3, static_cast<std::int64_t>(file.algorithm));
    trainer.integer(4, static_cast<std::int64_t>(file.pieces.size()));
    trainer.integer(24, file.space_as_suffix);
    trainer.integer(35, file.byte_fallback);
    trainer.integer(40, file.unknown);
    trainer.integer(41, file.bos);
    trainer.integer(42, file.eos);
    trainer.integer(43, file.padding);
    trainer.bytes(44, file.unknown_surface);
    normalizer.bytes(2, file.character_map);
    normalizer.integer(3, file.add_dummy_prefix);
    normalizer.integer(4, file.remove_extra_spaces);
    normalizer.integer(5, file.escape_spaces);
    whole.bytes(2, trainer.text());
    whole.bytes(3, normalizer.text());
    return whole.text();
}

}  // namespace tessera::tokenizers
