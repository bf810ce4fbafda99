// Text from a file that a person names, from standard input ("-") or from a pipe: all of it, checked to be text in
// UTF-8.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tessera/core/mapped_file.h"

namespace tessera::cli {

class TextFile {
   public:
    // Throws naming the file, and the line that is no UTF-8.
    explicit TextFile(const std::string& path);

    const std::string& name() const { return name_; }  // as errors call it: "standard input" for "-"
    std::string_view text() const { return text_; }

   private:
    std::string name_;
    std::unique_ptr<const MappedFile> file_;  // of a regular file
    std::string stream_;                      // of anything else
    std::string_view text_;
};

}  // namespace tessera::cli
