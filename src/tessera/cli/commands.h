// One function per command: arguments in, exit status out (0 done, 1 failed, 2 wrong usage).
#pragma once

#include <string>
#include <vector>

namespace tessera::cli {

int chat_command(const std::vector<std::string>& arguments);
int classify_command(const std::vector<std::string>& arguments);
int compare_command(const std::vector<std::string>& arguments);
int convert_command(const std::vector<std::string>& arguments);
int embed_command(const std::vector<std::string>& arguments);
int eval_command(const std::vector<std::string>& arguments);
int fill_command(const std::vector<std::string>& arguments);
int finetune_command(const std::vector<std::string>& arguments);
int generate_command(const std::vector<std::string>& arguments);
int init_command(const std::vector<std::string>& arguments);
int inspect_command(const std::vector<std::string>& arguments);
int merge_command(const std::vector<std::string>& arguments);
int ops_command(const std::vector<std::string>& arguments);
int parity_command(const std::vector<std::string>& arguments);
int regress_command(const std::vector<std::string>& arguments);
int scenes_command(const std::vector<std::string>& arguments);
int scenes_score_command(const std::vector<std::string>& arguments);  // tessera scenes score
int score_command(const std::vector<std::string>& arguments);
int tokenize_command(const std::vector<std::string>& arguments);
int tokenizer_command(const std::vector<std::string>& arguments);
int train_command(const std::vector<std::string>& arguments);
int translate_command(const std::vector<std::string>& arguments);

}  // namespace tessera::cli
