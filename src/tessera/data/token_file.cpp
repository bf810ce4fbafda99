// Layout: ids (u32 each), padding to 8 bytes, ends of documents (u64 each), the stamp's bytes, then a footer of five
// u64: ids, documents, bytes of the stamp, a version, a magic number.
#include "tessera/data/token_file.h"

#include <cstring>

#include "tessera/core/error.h"

namespace tessera::data {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t magic = 0x736e656b6f547354, version = 1;

struct Footer {
    std::uint64_t tokens, documents, stamp_bytes, version, magic;
};

constexpr std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

template <class T>
std::span<const std::byte> bytes_of_vector(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}

}  // namespace

TokenFile::TokenFile(const fs::path& path) : file_(std::make_shared<MappedFile>(path)) {
    const std::uint64_t bytes = file_->bytes();
    check(bytes >= sizeof(Footer), path.string(), ": ", bytes, " bytes are no token file");
    Footer footer;
    std::memcpy(&footer, file_->data() + bytes - sizeof(Footer), sizeof(Footer));
    check(footer.magic == magic && footer.version == version, path.string(), ": not a token file of this version");
    check(footer.tokens <= bytes / 4 && footer.documents <= bytes / 8 && footer.stamp_bytes <= bytes &&
              padded(footer.tokens * 4) + footer.documents * 8 + footer.stamp_bytes + sizeof(Footer) == bytes,
          path.string(), ": its counts do not fit its ", bytes, " bytes");
    const std::byte* data = file_->data();
    tokens_ = reinterpret_cast<const std::uint32_t*>(data);
    ends_ = reinterpret_cast<const std::uint64_t*>(data + padded(footer.tokens * 4));
    count_ = static_cast<std::int64_t>(footer.tokens);
    documents_ = static_cast<std::int64_t>(footer.documents);
    stamp_.assign(reinterpret_cast<const char*>(ends_ + footer.documents), footer.stamp_bytes);
    check(documents_ == 0 ? count_ == 0 : ends_[documents_ - 1] == footer.tokens, path.string(),
          ": its last document does not end with its last token");
    for (std::int64_t i = 1; i < documents_; ++i)
        check(ends_[i - 1] <= ends_[i], path.string(), ": document ", i, " ends before the one in front of it");
}

TokenFileWriter::TokenFileWriter(const fs::path& path, const std::string& stamp) : file_(path), stamp_(stamp) {}

void TokenFileWriter::add(std::span<const std::int64_t> ids) {
    for (const std::int64_t id : ids) buffer_.push_back(static_cast<std::uint32_t>(id));
    count_ += ids.size();
    constexpr std::size_t enough = std::size_t{1} << 18;
    if (buffer_.size() < enough) return;
    file_.write(bytes_of_vector(buffer_));
    buffer_.clear();
}

void TokenFileWriter::end_document() {
    if (count_ > (ends_.empty() ? 0 : ends_.back())) ends_.push_back(count_);
}

void TokenFileWriter::commit() {
    if (count_ % 2 == 1) buffer_.push_back(0);
    file_.write(bytes_of_vector(buffer_));
    file_.write(bytes_of_vector(ends_));
    file_.write(stamp_);
    const std::vector<Footer> footer{{count_, ends_.size(), stamp_.size(), version, magic}};
    file_.write(bytes_of_vector(footer));
    file_.commit();
}

TokenFile open_or_make_token_file(const fs::path& path, const std::string& stamp,
                                  const std::function<void(TokenFileWriter&)>& make) {
    std::error_code error;
    if (fs::exists(path, error)) try {
            TokenFile earlier(path);
            if (earlier.stamp() == stamp) return earlier;
        } catch (const Error&) {
            // Broken or of another version: made anew.
        }
    TokenFileWriter writer(path, stamp);
    make(writer);
    writer.commit();
    return TokenFile(path);
}

}  // namespace tessera::data
