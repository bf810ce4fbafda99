// The hidden folders that an output_folder.h builds in. A mark in each, locked while its program lives, tells ours from
// others' of such a name, and what a killed program has left from what a living one is writing.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::formats {

constexpr const char* unfinished_mark = ".tessera-unfinished";  // all in it was written here, or is a second name
constexpr const char* replaced_mark = ".tessera-replaced";      // what was there until the new one took its place

bool is_mark(const std::filesystem::path& name);

// A new one, START12345678 in `place`, with its mark locked. False with errno where it cannot be made.
bool make_hidden(const std::filesystem::path& place, const std::string& start, std::filesystem::path& made, int& lock);
void remove_hidden(const std::filesystem::path& folder);

struct StaleFolder {
    std::filesystem::path path;
    bool replaced = false;  // by its mark
    int lock = -1;          // held from now on
};
std::vector<StaleFolder> stale_folders(const std::filesystem::path& place, const std::string& start);

// An open and locked file of this name; −1 where another program holds it, or with errno.
int locked(const std::filesystem::path& path, int flags = 0);
void unlock(int& file);

// Links are not followed, and what cannot be read is not there.
std::vector<std::filesystem::path> names_in(const std::filesystem::path& folder);
bool is_there(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);

}  // namespace tessera::formats
