// Texts of a command line, where - stands for the lines of standard input.
#pragma once

#include <iostream>
#include <string>
#include <vector>

namespace tessera::cli {

inline std::vector<std::string> input_texts(const std::vector<std::string>& given) {
    std::vector<std::string> texts;
    for (const std::string& text : given) {
        if (text != "-") {
            texts.push_back(text);
            continue;
        }
        for (std::string line; std::getline(std::cin, line);) texts.push_back(line);
    }
    return texts;
}

}  // namespace tessera::cli
