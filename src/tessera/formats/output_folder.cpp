#include "tessera/formats/output_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <utility>

#include "tessera/core/error.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/hidden_folder.h"

namespace tessera::formats {
namespace {

namespace fs = std::filesystem;

constexpr const char* inner_prefix = ".tessera-";

std::string hidden_prefix(const fs::path& folder) { return text_of(".", folder.filename().string(), ".tessera-"); }

bool is_same_file(const fs::path& a, const fs::path& b) {
    struct stat one {
    }, other{};
    return ::lstat(a.c_str(), &one) == 0 && ::lstat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

// Of paths as a person writes them: absolute, without links, `..` and a slash at the end.
fs::path resolved(const fs::path& path) {
    check(!path.empty(), "the name of the folder to write is empty");
    std::error_code error;
    fs::path place = fs::weakly_canonical(fs::absolute(path, error), error);
    check(!error, path.string(), ": cannot be reached: ", error.message());
    return place.filename().empty() ? place.parent_path() : place;
}

void refuse_input(const fs::path& folder, const fs::path& input, const IsOwn& is_own, const std::string& shown) {
    std::error_code error;
    const fs::path real = fs::canonical(input, error);
    if (error) return;  // whoever reads it says so
    for (fs::path place = real; place.has_relative_path(); place = place.parent_path()) {
        if (!fs::equivalent(place, folder, error)) continue;
        check(place != real, shown, ": is what is read; name another folder to write");
        const bool stays = !fs::is_directory(real) && !is_own(real.lexically_relative(place));
        check(stays, shown, ": holds ", input.string(), ", which is read; name another folder to write");
    }
}

}  // namespace

void refuse_inputs_in(const fs::path& folder, const std::vector<fs::path>& inputs, const IsOwn& is_own,
                      const std::string& shown) {
    if (!is_there(folder)) return;
    for (const fs::path& input : inputs) {
        if (input.empty()) continue;
        refuse_input(folder, input, is_own, shown);
        std::error_code error;
        if (fs::is_directory(input, error))  // its files may be links
            for (const fs::path& name : names_in(input)) refuse_input(folder, input / name, is_own, shown);
    }
}

OutputFolder::OutputFolder(const fs::path& folder, OutputOptions options)
    : shown_(folder.string()), folder_(resolved(folder)), options_(std::move(options)) {
    exists_ = is_there(folder_);
    check(!fs::is_symlink(folder_), shown_, ": is a link that leads nowhere");
    check(!exists_ || is_folder(folder_), shown_, ": is a file, and a folder is to be written");
    check(folder_.has_relative_path(), shown_, ": is the root of all folders; name one of its own");
    refuse_inputs_in(folder_, options_.inputs, options_.is_own, shown_);
    const fs::path around = folder_.parent_path();
    if (!options_.holds_run_lock && is_there(folder_ / run_lock_name)) {
        run_lock_ = locked(folder_ / run_lock_name);
        check(run_lock_ >= 0, shown_, ": a training is at work in it");
    }

    // What killed programs have left.
    for (StaleFolder& stale : stale_folders(around, hidden_prefix(folder_))) {
        if (!stale.replaced)
            remove_hidden(stale.path);
        else if (exists_)
            clear_old(stale.path);
        unlock(stale.lock);
    }
    for (StaleFolder& stale : stale_folders(folder_, inner_prefix)) {
        if (!stale.replaced) remove_hidden(stale.path);
        unlock(stale.lock);
    }

    bool replaces = false;
    std::string first;
    for (const fs::path& name : names_in(folder_)) {
        if (is_mark(name) || name == run_lock_name) continue;
        replaces = replaces || options_.is_own(name);
        if (first.empty() || name.string() < first) first = name.string();
    }
    if (!options_.overwrite && !first.empty())
        throw FolderNotEmpty(text_of(shown_, ": is not empty: it holds ", first));

    for (fs::path place = around; !is_there(place); place = place.parent_path()) made_ = place;
    std::error_code error;
    fs::create_directories(around, error);
    check(!error, shown_, ": cannot be made: ", error.message());
    struct stat inner {
    }, outer{};
    const bool same_device =
        ::stat(folder_.c_str(), &inner) == 0 && ::stat(around.c_str(), &outer) == 0 && inner.st_dev == outer.st_dev;
    const bool beside = !exists_ || (replaces && same_device);
    if (beside && make_hidden(around, hidden_prefix(folder_), staging_, lock_)) return;
    inside_ = exists_;
    if (inside_ && make_hidden(folder_, inner_prefix, staging_, lock_)) return;
    const int reason = errno;
    remove_made();
    fail(shown_, ": cannot be written: ", std::strerror(reason));
}

void OutputFolder::remove_made() const {
    std::error_code error;
    for (fs::path place = folder_.parent_path(); !made_.empty() && fs::remove(place, error) && place != made_;)
        place = place.parent_path();
}

OutputFolder::~OutputFolder() {
    std::error_code error;
    if (!staging_.empty()) {
        remove_hidden(staging_);
        if (old_lock_ >= 0) fs::remove(folder_ / replaced_mark, error);
        if (made_run_lock_) fs::remove(folder_ / run_lock_name, error);
        remove_made();
    }
    unlock(lock_);
    unlock(old_lock_);
    unlock(run_lock_);
}

// From here on no training begins in the folder that is replaced.
void OutputFolder::take_run_lock() {
    if (options_.holds_run_lock || run_lock_ >= 0 || !exists_) return;
    made_run_lock_ = !is_there(folder_ / run_lock_name);
    run_lock_ = locked(folder_ / run_lock_name, O_CREAT);
    if (run_lock_ >= 0) return;
    made_run_lock_ = false;
    fail(shown_, ": a training has begun in it meanwhile");
}

void OutputFolder::commit() {
    for (const auto& entry : fs::recursive_directory_iterator(staging_))
        if (const fs::path below = entry.path().lexically_relative(staging_);
            !is_folder(entry.path()) && !is_mark(below))
            written_.push_back(below);
    for (const fs::path& below : written_)
        check(!is_folder(folder_ / below), shown_, ": ", below.string(),
              " is a folder, where a file of that name is to be written");
    flush_folder(staging_);
    take_run_lock();
    if (!exists_)
        commit_as_new();
    else if (inside_)
        commit_inside();
    else
        commit_by_exchange();
    staging_.clear();
    flush_folder(folder_.parent_path());
}

void OutputFolder::commit_as_new() {
    bool made = ::renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, folder_.c_str(), RENAME_NOREPLACE) == 0;
    check(made || errno != EEXIST, shown_, ": has been made meanwhile by something else");
    if (!made && (errno == EINVAL || errno == ENOSYS))
        made = ::rename(staging_.c_str(), folder_.c_str()) == 0;  // over an empty folder at most
    if (!made) fail(shown_, ": cannot be made: ", std::strerror(errno));
    ::unlink((folder_ / unfinished_mark).c_str());
}

void OutputFolder::commit_by_exchange() {
    struct stat status {};
    if (::stat(folder_.c_str(), &status) == 0) ::chmod(staging_.c_str(), status.st_mode & 07777);
    link_others({});
    old_lock_ = locked(folder_ / replaced_mark, O_CREAT);
    fs::path old = staging_;
    if (::renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, folder_.c_str(), RENAME_EXCHANGE) != 0) {
        // Without it there is a moment in which the folder has no name but the one that says what it is.
        if (errno != EINVAL && errno != ENOSYS) fail(shown_, ": cannot be replaced: ", std::strerror(errno));
        old = folder_.parent_path() / text_of(folder_.filename().string(), ".replaced-", random_digits());
        if (::rename(folder_.c_str(), old.c_str()) != 0) fail(shown_, ": cannot be replaced: ", std::strerror(errno));
        if (::rename(staging_.c_str(), folder_.c_str()) != 0) {
            const int reason = errno;
            ::rename(old.c_str(), folder_.c_str());
            fail(shown_, ": cannot be replaced: ", std::strerror(reason));
        }
    }
    staging_ = old;
    if (made_run_lock_) ::unlink((old / run_lock_name).c_str());
    ::unlink((folder_ / unfinished_mark).c_str());
    flush_folder(folder_.parent_path());
    clear_old(old);
}

// config.json says what the other files are, so it goes first and comes last.
void OutputFolder::commit_inside() {
    const auto says_what_it_is = [](const fs::path& name) {
        return name == "config.json" || name == "adapter_config.json";
    };
    const auto move = [&](const fs::path& from, const fs::path& to) {
        if (::rename(from.c_str(), to.c_str()) != 0) fail(shown_, ": cannot be written: ", std::strerror(errno));
    };
    const fs::path aside = folder_ / text_of("replaced-", random_digits());
    std::vector<fs::path> old;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
        const fs::path below = entry.path().lexically_relative(folder_);
        const bool is_rewritten = std::find(written_.begin(), written_.end(), below) != written_.end();
        if (!is_folder(entry.path()) && (options_.is_own(below) || is_rewritten)) old.push_back(below);
    }
    std::stable_partition(old.begin(), old.end(), says_what_it_is);
    std::stable_partition(written_.begin(), written_.end(), std::not_fn(says_what_it_is));
    for (const fs::path& below : old) {
        fs::create_directories((aside / below).parent_path());
        move(folder_ / below, aside / below);
    }
    for (const fs::path& below : written_) {
        fs::create_directories((folder_ / below).parent_path());
        move(staging_ / below, folder_ / below);
    }
    if (made_run_lock_) ::unlink((folder_ / run_lock_name).c_str());
    flush_folder(folder_);
    std::error_code error;
    remove_hidden(staging_);
    fs::remove_all(aside, error);
}

// People's own files have two names for a while, so that they are never away. What a file system cannot link is moved
// afterwards.
void OutputFolder::link_others(const fs::path& below) const {
    for (const fs::path& name : names_in(folder_ / below)) {
        const fs::path inner = below / name, from = folder_ / inner, to = staging_ / inner;
        if (made_run_lock_ && inner == run_lock_name) continue;
        if (is_folder(from)) {
            const bool made = !is_there(to) && ::mkdir(to.c_str(), 0777) == 0, was_empty = names_in(from).empty();
            if (!is_folder(to)) continue;
            struct stat status {};
            if (made && ::stat(from.c_str(), &status) == 0) ::chmod(to.c_str(), status.st_mode & 07777);
            link_others(inner);
            // Nothing in it was theirs.
            if (made && (!was_empty || options_.is_own(inner)) && names_in(to).empty()) ::rmdir(to.c_str());
        } else if (!is_mark(inner) && !options_.is_own(inner) && !is_temporary_name(name.string())) {
            [[maybe_unused]] const int linked = ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), 0);
        }
    }
}

// Removes our own, what the new folder has replaced and second names; what else there is goes into the new folder.
void OutputFolder::clear_old(const fs::path& old) const {
    remove_own(old, [&](const fs::path& below) {
        const bool is_rewritten = std::find(written_.begin(), written_.end(), below) != written_.end();
        return options_.is_own(below) || is_rewritten || is_same_file(old / below, folder_ / below);
    });
    const std::function<void(const fs::path&)> bring_back = [&](const fs::path& below) {
        for (const fs::path& name : names_in(old / below)) {
            const fs::path inner = below / name, from = old / inner, to = folder_ / inner;
            if (is_mark(inner)) continue;
            [[maybe_unused]] int moved = 0;
            if (!is_there(to))
                moved = ::rename(from.c_str(), to.c_str());
            else if (is_folder(from) && is_folder(to))
                bring_back(inner);
        }
        if (!below.empty()) ::rmdir((old / below).c_str());
    };
    bring_back({});
    const std::vector<fs::path> left = names_in(old);
    if (std::all_of(left.begin(), left.end(), is_mark)) remove_hidden(old);
}

}  // namespace tessera::formats
