// A folder that appears whole or not at all. Files are written into a hidden folder beside it, which takes its place in
// one step; what is replaced stays until then. People's own files in the folder stay where they are.
//
// A folder that holds nothing to be replaced, and one that nothing can be put beside (a mounted volume), is filled from
// a hidden folder inside it, config.json last: until then it is no model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tessera/core/error.h"
#include "tessera/formats/own_files.h"

namespace tessera::formats {

// The folder holds something that was not to be overwritten.
class FolderNotEmpty : public Error {
   public:
    using Error::Error;
};

struct OutputOptions {
    bool overwrite = false;                          // otherwise the folder has to be empty, or not there
    std::vector<std::filesystem::path> inputs = {};  // what is read is not replaced
    IsOwn is_own = is_model_file;                    // what is replaced
    bool holds_run_lock = false;  // otherwise a folder in which a training is at work is refused, and none begins in it
};

constexpr const char* run_lock_name = ".tessera-run";  // stands in a run's folder, and is locked while it is at work

// Throws where an input is the folder itself, a folder in it, or a file in it that would be replaced; also through
// links.
void refuse_inputs_in(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& inputs,
                      const IsOwn& is_own, const std::string& shown);

class OutputFolder {
   public:
    explicit OutputFolder(const std::filesystem::path& folder, OutputOptions options = {});
    ~OutputFolder();  // without commit, all is as it was
    OutputFolder(const OutputFolder&) = delete;
    OutputFolder& operator=(const OutputFolder&) = delete;

    const std::filesystem::path& path() const { return staging_; }  // where to write
    void commit();

   private:
    void take_run_lock();
    void remove_made() const;
    void commit_as_new();
    void commit_by_exchange();
    void commit_inside();
    void link_others(const std::filesystem::path& below) const;
    void clear_old(const std::filesystem::path& old) const;

    std::string shown_;              // as the caller names it
    std::filesystem::path folder_;   // absolute, without links
    std::filesystem::path staging_;  // empty once committed
    std::filesystem::path made_;     // the highest folder around it that had to be made
    OutputOptions options_;
    std::vector<std::filesystem::path> written_;  // by the caller: files below the folder
    bool exists_ = false, inside_ = false;
    int lock_ = -1, old_lock_ = -1, run_lock_ = -1;
    bool made_run_lock_ = false;
};

}  // namespace tessera::formats
