// A corpus as token ids, made once and mapped from then on: u32 ids one after another, then where each document ends. A
// stamp of what it was made from tells whether it is still right.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "tessera/core/mapped_file.h"
#include "tessera/formats/atomic_file.h"

namespace tessera::data {

class TokenFile {
   public:
    explicit TokenFile(const std::filesystem::path& path);  // throws naming the path where it is not whole

    std::span<const std::uint32_t> tokens() const { return {tokens_, static_cast<std::size_t>(count_)}; }
    std::span<const std::uint64_t> document_ends() const { return {ends_, static_cast<std::size_t>(documents_)}; }
    const std::string& stamp() const { return stamp_; }

   private:
    std::shared_ptr<MappedFile> file_;
    const std::uint32_t* tokens_ = nullptr;
    const std::uint64_t* ends_ = nullptr;
    std::int64_t count_ = 0, documents_ = 0;
    std::string stamp_;
};

class TokenFileWriter {
   public:
    TokenFileWriter(const std::filesystem::path& path, const std::string& stamp);
    void add(std::span<const std::int64_t> ids);  // to the document at hand
    void end_document();                          // one without ids is none
    void add_document(std::span<const std::int64_t> ids) {
        add(ids);
        end_document();
    }
    void commit();

   private:
    formats::AtomicFile file_;
    std::vector<std::uint32_t> buffer_;
    std::vector<std::uint64_t> ends_;
    std::uint64_t count_ = 0;
    std::string stamp_;
};

// The file at `path` if it bears this stamp; otherwise `make` fills a new one.
TokenFile open_or_make_token_file(const std::filesystem::path& path, const std::string& stamp,
                                  const std::function<void(TokenFileWriter&)>& make);

}  // namespace tessera::data
