// For readers that take a file's name: a folder of this process's own, removed at its end. In memory where
// that is possible.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

class ScratchFolder {
   public:
    ScratchFolder() {
        const std::filesystem::path in_memory = "/dev/shm";
        const bool is_there = std::filesystem::is_directory(in_memory);
        path_ = (is_there ? in_memory : std::filesystem::temp_directory_path()) /
                ("tessera_fuzz_" + std::to_string(::getpid()));
        std::filesystem::create_directories(path_);
    }
    ~ScratchFolder() { std::filesystem::remove_all(path_); }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    std::filesystem::path write(const char* name, const std::uint8_t* bytes, std::size_t size) const {
        std::ofstream(path_ / name, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes), static_cast<std::streamsize>(size));
        return path_ / name;
    }

   private:
    std::filesystem::path path_;
};
