// Texts that a command is given: on its line, where - stands for standard input, and in files, of which - is standard
// input too.
#pragma once

#include <string>
#include <vector>

namespace tessera::cli {

// The texts of the line, then each line of each file.
std::vector<std::string> input_texts(const std::vector<std::string>& given, const std::vector<std::string>& files);
// The one text of either: as it stands on the line, of "-" all of standard input, or a file without the end of its last
// line.
std::string one_text(const std::vector<std::string>& given, const std::vector<std::string>& files);
// A whole file, without the end of its last line.
std::string file_text(const std::string& path);

}  // namespace tessera::cli
