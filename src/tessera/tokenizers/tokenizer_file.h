// Kinds of files that hold a tokenizer. A kind registers itself, so that rooms above this one can bring their own.
#pragma once

#include <filesystem>
#include <memory>

#include "tessera/core/error.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::tokenizers {

// There is no tokenizer where one was looked for.
class NoTokenizer : public Error {
   public:
    using Error::Error;
};

struct TokenizerFile {
    const char* in_folder;                            // the file's name in a folder; null: only named itself
    int rank;                                         // in a folder, the lowest that is there is taken
    bool (*fits)(const std::filesystem::path& file);  // by name, and by what is in it where names are shared
    std::shared_ptr<Tokenizer> (*open)(const std::filesystem::path& file);
    // Into a folder of the Hub's layout; null: the file is copied as it is.
    void (*write)(const std::filesystem::path& file, const std::filesystem::path& folder) = nullptr;
};

class RegisterTokenizerFile {
   public:
    explicit RegisterTokenizerFile(const TokenizerFile& kind);
};

}  // namespace tessera::tokenizers
