#include "tessera/cli/arguments/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tessera/core/error.h"
#include "tessera/formats/binary_data.h"
#include "tessera/text/utf8.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

// A stream has no size to look at; past this it is taken for one without an end.
constexpr std::size_t most_streamed = std::size_t{4} << 30;

struct Descriptor {
    ~Descriptor() {
        if (number > STDIN_FILENO) ::close(number);
    }
    const int number;
};

std::string stream_text(int number, const std::string& name) {
    std::string text;
    constexpr std::size_t step = std::size_t{1} << 16;
    while (true) {
        const std::size_t before = text.size();
        text.resize(before + step);
        const ssize_t count = ::read(number, text.data() + before, step);
        text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        if (count < 0 && errno == EINTR) continue;
        check(count >= 0, name, ": cannot read: ", std::strerror(errno));
        if (count == 0) return text;
        // What is no text may never end, as /dev/zero.
        check(text.find('\0', before) == text.npos, name, ": is no text: byte ", text.find('\0', before), " is a zero");
        check(text.size() <= most_streamed, name, ": more than ", most_streamed, " bytes; a file holds more");
    }
}

void check_is_utf8(std::string_view text, const std::string& name) {
    if (text::is_valid_utf8(text)) return;
    std::int64_t line = 1;
    while (true) {
        const std::size_t end = text.find('\n');
        check(text::is_valid_utf8(text.substr(0, end)), name, ": line ", line, ": is no text: expected UTF-8");
        text.remove_prefix(end + 1);  // the broken line comes
        ++line;
    }
}

}  // namespace

TextFile::TextFile(const std::string& path) : name_(path == "-" ? "standard input" : path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    const bool is_standard_input = path == "-";
    if (is_standard_input) {
        stream_ = stream_text(STDIN_FILENO, name_);
        text_ = stream_;
    } else if (fs::is_fifo(status) || fs::is_character_file(status)) {
        const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
        check(file.number >= 0, path, ": cannot open: ", std::strerror(errno));
        stream_ = stream_text(file.number, name_);
        text_ = stream_;
    } else {
        check(!fs::is_directory(status), path, ": is a folder, not a file of text");
        file_ = std::make_unique<const MappedFile>(path);
        text_ = {reinterpret_cast<const char*>(file_->data()), file_->bytes()};
    }
    formats::check_is_text(text_, name_);
    check_is_utf8(text_, name_);
}

}  // namespace tessera::cli
