// The chat command: through a pipe, and on a terminal with keys.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "cli/program.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/formats/json.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using formats::Json;

// The program on a terminal of its own.
class Terminal {
   public:
    explicit Terminal(const std::vector<std::string>& arguments, unsigned short columns = 80) {
        const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
        child_ = forkpty(&terminal_, nullptr, nullptr, &size);
        if (child_ != 0) return;
        std::string program = TESSERA_PROGRAM;
        std::vector<char*> values{program.data()};
        std::vector<std::string> copies = arguments;
        for (std::string& argument : copies) values.push_back(argument.data());
        values.push_back(nullptr);
        execv(program.c_str(), values.data());
        _exit(127);
    }
    ~Terminal() {
        if (child_ > 0) {
            kill(child_, SIGKILL);
            waitpid(child_, nullptr, 0);
        }
        close(terminal_);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    void type(const std::string& keys) const {
        EXPECT_EQ(write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
    }
    void resize(unsigned short columns) const {
        const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
        EXPECT_EQ(ioctl(terminal_, TIOCSWINSZ, &size), 0);
    }
    // Reads until `text` has come after what was waited for before.
    bool wait_for(const std::string& text) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (true) {
            const std::size_t found = seen_.find(text, from_);
            if (found != seen_.npos) {
                from_ = found + text.size();
                return true;
            }
            pollfd ready{terminal_, POLLIN, 0};
            char buffer[4096];
            const bool came = poll(&ready, 1, 200) > 0;
            const ssize_t count = came ? read(terminal_, buffer, sizeof buffer) : 0;
            if (count > 0) seen_.append(buffer, static_cast<std::size_t>(count));
            if ((came && count <= 0) || std::chrono::steady_clock::now() > end) {
                ADD_FAILURE() << "'" << text << "' did not come; there was: " << seen_.substr(from_);
                return false;
            }
        }
    }
    // The text, and the prompt after it: before that, keys would reach the terminal's own editing.
    bool wait_for_answer(const std::string& text) { return wait_for(text) && wait_for("> "); }
    int status() {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        int value = 0;
        while (waitpid(child_, &value, WNOHANG) == 0) {
            if (std::chrono::steady_clock::now() > end) return -1;
            usleep(10000);
        }
        child_ = -1;
        return WIFEXITED(value) ? WEXITSTATUS(value) : -1;
    }

   private:
    int terminal_ = -1;
    pid_t child_ = -1;
    std::string seen_;
    std::size_t from_ = 0;
};

class Chat : public ::testing::Test {
   protected:
    Chat() : path_(folder_ / "model"), saved_(folder_ / "saved.json") {
        Json::parse(R"({"model_type": "llama", "vocab_size": 1100, "hidden_size": 32, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64,
            "max_position_embeddings": 100000, "bos_token_id": 1, "eos_token_id": 2})",
                    "config")
            .write(folder_ / "config.json");
        testing::expect_success({"init", folder_ / "config.json", path_});
        const fs::path tokenizer = fs::path(testing::golden_path("tokenizers")) / "byte-fallback-bpe-llama2";
        fs::copy_file(tokenizer / "tokenizer.json", path_ + "/tokenizer.json");
        set_template("{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}[assistant]");
    }

    void set_template(const std::string& source) const {
        Json::object().set("chat_template", source).set("bos_token", "<s>").write(path_ + "/tokenizer_config.json");
    }
    // Contents of the saved conversation, each after its role's first letter.
    std::vector<std::string> saved() const {
        std::vector<std::string> lines;
        const Json file = Json::read(saved_);
        for (const Json& message : file.find("messages")->items())
            lines.push_back(message.find("role")->as_string().substr(0, 1) + message.find("content")->as_string());
        return lines;
    }

    testing::TemporaryFolder folder_;
    std::string path_, saved_;
};

TEST_F(Chat, EditsLinesOnATerminal) {
    Terminal terminal({"chat", path_, "--max-new", "2", "--greedy", "--system", "Short."});
    ASSERT_TRUE(terminal.wait_for("> "));
    terminal.type("hexo\033[D\x7fll\r");  // left, backspace
    ASSERT_TRUE(terminal.wait_for_answer("tokens/s"));
    terminal.type("\033[A\r");  // up: the same again
    ASSERT_TRUE(terminal.wait_for_answer("known"));
    terminal.type("größé\x7f!\x01>\x05<\x17two words\x17three\r");  // a two-byte letter, home, end, words erased
    ASSERT_TRUE(terminal.wait_for_answer("known"));
    terminal.type("lost\x15kept and cut\033[D\033[D\033[D\x0b\x7f\r");  // line erased, then to the end, a space
    ASSERT_TRUE(terminal.wait_for_answer("known"));
    terminal.type("never sent\x03/save " + saved_ + "\r");
    ASSERT_TRUE(terminal.wait_for_answer("saved to"));
    terminal.type("\x04");
    EXPECT_EQ(terminal.status(), 0);
    const std::vector<std::string> lines = saved();
    ASSERT_EQ(lines.size(), 9u);
    EXPECT_EQ(lines[0], "sShort.");
    EXPECT_EQ(lines[1], "uhello");
    EXPECT_EQ(lines[3], "uhello");
    EXPECT_EQ(lines[5], "utwo three");
    EXPECT_EQ(lines[7], "ukept and");
}

TEST_F(Chat, APastedTextIsOneMessageAndKeysBeginNewLines) {
    Terminal terminal({"chat", path_, "--max-new", "2", "--greedy"});
    ASSERT_TRUE(terminal.wait_for("\033[?2004h"));
    ASSERT_TRUE(terminal.wait_for("> "));
    terminal.type("see: \033[200~one\r\ntwo\rthree\033[201~ end\r");
    ASSERT_TRUE(terminal.wait_for_answer("tokens/s"));
    terminal.type("a\nb\033\rc\\\rd\r");  // Ctrl-J, Alt-Enter, a backslash before Enter
    ASSERT_TRUE(terminal.wait_for_answer("known"));
    terminal.type("\033[A\033[A\033[A\033[H>\033[B\033[F!\r");  // within what was sent before, line by line
    ASSERT_TRUE(terminal.wait_for_answer("known"));
    terminal.type("/save " + saved_ + "\r");
    ASSERT_TRUE(terminal.wait_for_answer("saved to"));
    terminal.type("\x04");
    EXPECT_EQ(terminal.status(), 0);
    const std::vector<std::string> lines = saved();
    ASSERT_EQ(lines.size(), 6u);
    EXPECT_EQ(lines[0], "usee: one\ntwo\nthree end");
    EXPECT_EQ(lines[2], "ua\nb\nc\nd");
    EXPECT_EQ(lines[4], "ua\n>b\nc!\nd");
}

TEST_F(Chat, LongLinesGoOnInTheNextRow) {
    Terminal terminal({"chat", path_, "--max-new", "2", "--greedy"}, 20);
    ASSERT_TRUE(terminal.wait_for("> "));
    terminal.type("0123456789abcdefghijklmnop");
    ASSERT_TRUE(terminal.wait_for("> 0123456789abcdefg\033[K"));  // 17 columns beside the prompt
    ASSERT_TRUE(terminal.wait_for("\n  hijklmnop"));
    terminal.resize(40);
    ASSERT_TRUE(terminal.wait_for("> 0123456789abcdefghijklmnop"));
    terminal.type("\r");
    ASSERT_TRUE(terminal.wait_for_answer("tokens/s"));
    terminal.type("/quit\r");
    EXPECT_EQ(terminal.status(), 0);
}

// Messages through a pipe, and what was said on standard error.
TEST_F(Chat, CommandsDoWhatTheySayAndSaySo) {
    const auto chat = [&](const std::string& input) {
        return testing::run_program({"chat", path_, "--max-new", "3", "--greedy", "--no-stats"}, input);
    };
    const testing::Answer first =
        chat("/system Be brief.\none\ntwo\n/undo\nthree\n/regenerate\n/save " + saved_ + "\n");
    EXPECT_EQ(first.status, 0);
    const std::vector<std::string> lines = saved();
    ASSERT_EQ(lines.size(), 5u);
    EXPECT_EQ(lines[0], "sBe brief.");
    EXPECT_EQ(lines[1], "uone");
    EXPECT_EQ(lines[3], "uthree");
    for (const char* part :
         {"the system message is \"Be brief.\"", "took back \"two\"; 1 turn is left", "will be the same", "saved to"})
        EXPECT_NE(first.err.find(part), first.err.npos) << part << ": " << first.err;
    EXPECT_EQ(first.err.find("tokens/s"), first.err.npos);
    // Three answers, and that of /regenerate once more.
    EXPECT_EQ(std::count(first.out.begin(), first.out.end(), '\n'), 4) << first.out;

    const std::string again = folder_ / "again.json";
    const testing::Answer second =
        chat("/load " + saved_ + "\n/save " + again + "\n/stats on\nmore\n/stats\nagain\n/reset\n/undo\n/load " +
             (folder_ / "none").string() + "\n");
    EXPECT_EQ(Json::read(again).dump(), Json::read(saved_).dump());
    EXPECT_NE(second.err.find("loaded 4 messages and the system message"), second.err.npos) << second.err;
    EXPECT_NE(second.err.find("begun again; the system message stays"), second.err.npos) << second.err;
    EXPECT_NE(second.err.find("/undo: there is no message"), second.err.npos) << second.err;
    EXPECT_NE(second.err.find("none"), second.err.npos) << second.err;
    const std::size_t told = second.err.find("tokens/s");
    ASSERT_NE(told, second.err.npos);
    EXPECT_EQ(second.err.find("prompt", told), second.err.npos);  // off again before the second message

    const testing::Answer wrong = chat("/regenerate\n/stats maybe\n/reset now\n/nothing\n/image cat.png\n/help\n");
    for (const char* part : {"/regenerate: there is no", "'maybe'", "'now'", "'/nothing'", "does not look at images"})
        EXPECT_NE(wrong.err.find(part), wrong.err.npos) << part;
    for (const char* name : {"/system", "/image", "/regenerate", "/undo", "/reset", "/save", "/load", "/stats", "/help",
                             "/quit", "Alt-Enter"})
        EXPECT_NE(wrong.out.find(name), wrong.out.npos) << name;
}

TEST_F(Chat, RefusesToLoadWhatIsNoConversationAndKeepsItsOwn) {
    const char* files[] = {R"({})",
                           R"({"messages": 3})",
                           R"({"messages": [{"role": "user"}]})",
                           R"({"messages": [{"role": "user", "content": 3}]})",
                           R"({"messages": [{"role": "user", "content": "a"}, {"role": "system", "content": "b"}]})",
                           R"({"messages": [3]})",
                           R"([)"};
    for (const char* text : files) {
        SCOPED_TRACE(text);
        const std::string file = folder_.write("bad.json", text);
        const testing::Answer answer = testing::run_program({"chat", path_, "--max-new", "2", "--greedy"},
                                                            "hello\n/load " + file + "\n/save " + saved_ + "\n");
        EXPECT_EQ(answer.status, 0);
        EXPECT_NE(answer.err.find("tessera: " + file), answer.err.npos) << answer.err;
        EXPECT_EQ(saved().size(), 2u);
    }
}

TEST_F(Chat, LeavesTheOldestTurnsOutWhereTheContextEnds) {
    std::string input;
    for (int turn = 0; turn < 8; ++turn) input += "this is message number " + std::to_string(turn) + "\n";
    input += std::string(400, '?') + "\nand on\n/save " + saved_ + "\n";
    const testing::Answer answer = testing::run_program(
        {"chat", path_, "--ctx", "160", "--max-new", "8", "--greedy", "--ignore-stop", "--system", "Short."}, input);
    EXPECT_EQ(answer.status, 0);
    const auto said = [&](const std::string& part) {
        std::size_t count = 0;
        for (std::size_t at = answer.err.find(part); at != answer.err.npos; at = answer.err.find(part, at + 1)) ++count;
        return count;
    };
    EXPECT_EQ(said("the conversation fills"), 1u) << answer.err;
    EXPECT_EQ(said("the oldest turn is left out"), 1u) << answer.err;
    EXPECT_GE(said("oldest turns are left out"), 1u) << answer.err;
    EXPECT_EQ(said("with the system message, more than the context of 160 tokens"), 1u) << answer.err;
    EXPECT_EQ(said("tokens/s), first token"), 9u) << answer.err;  // every message but the long one was answered
    for (std::size_t at = answer.err.find("prompt "); at != answer.err.npos; at = answer.err.find("prompt ", at + 1))
        EXPECT_LE(std::stoi(answer.err.substr(at + 7)), 152);
    EXPECT_EQ(saved().size(), 19u);  // what was left out is still part of the conversation
    EXPECT_EQ(saved()[1], "uthis is message number 0");
}

TEST_F(Chat, TellsOfTurnsLeftOutWhenTheyAreManyMore) {
    std::string input;
    for (int turn = 0; turn < 16; ++turn) input += "this is message number " + std::to_string(turn) + "\n";
    input += "/undo\nagain\n/undo\nagain\n";
    const testing::Answer answer =
        testing::run_program({"chat", path_, "--ctx", "160", "--max-new", "8", "--greedy", "--ignore-stop"}, input);
    std::size_t count = 0;
    for (std::size_t at = answer.err.find("left out from here"); at != answer.err.npos;
         at = answer.err.find("left out from here", at + 1))
        ++count;
    EXPECT_GE(count, 3u) << answer.err;
    EXPECT_LE(count, 4u) << answer.err;  // 1, 2, 4, 8 and no more
}

TEST_F(Chat, SavesOverItsOwnFilesAlone) {
    const auto chat = [&](const std::string& lines) {
        return testing::run_program({"chat", path_, "--max-new", "2", "--greedy", "--no-stats"}, lines).err;
    };
    const std::string save = "/save " + saved_ + "\n";
    const std::string first = chat("one\n" + save + "two\n" + save);
    EXPECT_EQ(first.find("is there already"), first.npos) << first;
    EXPECT_EQ(saved().size(), 4u);
    const std::string second = chat("other\n" + save);
    EXPECT_NE(second.find(saved_ + ": is there already; /save! writes over it"), second.npos) << second;
    EXPECT_EQ(saved().size(), 4u);
    const std::string loaded = chat("/load " + saved_ + "\nthree\n" + save);
    EXPECT_EQ(loaded.find("is there already"), loaded.npos) << loaded;
    EXPECT_EQ(saved().size(), 6u);
    chat("other\n/save! " + saved_ + "\n");
    EXPECT_EQ(saved().size(), 2u);
    const std::string notes = folder_.write("notes.txt", "mine");
    EXPECT_NE(chat("other\n/save! " + notes + "\n").find("something else"), std::string::npos);
    EXPECT_EQ(folder_.read("notes.txt"), "mine");
}

TEST_F(Chat, RefusesWhatIsNoUtf8) {
    const testing::Answer answer = testing::run_program({"chat", path_, "--max-new", "2", "--greedy", "--no-stats"},
                                                        "caf\xe9\n/system \xff\nfine\n/save " + saved_ + "\n");
    EXPECT_NE(answer.err.find("the message: expected UTF-8, found the byte 0xe9 at place 4"), answer.err.npos)
        << answer.err;
    EXPECT_NE(answer.err.find("the system message: expected UTF-8"), answer.err.npos) << answer.err;
    EXPECT_EQ(saved().size(), 2u);
}

TEST_F(Chat, InterruptEndsTheAnswerAndNotTheProgram) {
    Terminal terminal({"chat", path_, "--max-new", "100000000", "--ignore-stop", "--seed", "1", "--temperature", "1"});
    ASSERT_TRUE(terminal.wait_for("> "));
    terminal.type("go on\r");
    ASSERT_TRUE(terminal.wait_for("\n"));
    usleep(300000);
    terminal.type("\x03");
    ASSERT_TRUE(terminal.wait_for("tokens/s"));
    ASSERT_TRUE(terminal.wait_for("> "));
    terminal.type("/save " + saved_ + "\r");
    ASSERT_TRUE(terminal.wait_for_answer("saved to"));
    terminal.type("/quit\r");
    EXPECT_EQ(terminal.status(), 0);
    EXPECT_EQ(saved().size(), 2u);
}

TEST_F(Chat, RefusesAModelWithoutATemplateAndAnswersBadTemplatesInOneLine) {
    set_template("{{ raise_exception('no') }}");
    testing::expect_refusal(1, {"chat", path_}, {"no"});
    testing::expect_refusal(1, {"generate", path_, "hi", "--chat"}, {"no"});
    fs::remove(path_ + "/tokenizer_config.json");
    testing::expect_refusal(1, {"chat", path_}, {"no chat template", path_});
    testing::expect_refusal(1, {"generate", path_, "hi", "--chat"}, {"no chat template", "without --chat"});
    testing::expect_refusal(1, {"chat", testing::golden_path("bert-mlm")}, {"a bert", "does not generate text"});
}

TEST_F(Chat, GenerateCanUseTheTemplate) {
    const auto tokens = [&](std::vector<std::string> prompt) {
        std::vector<std::string> arguments{"generate", path_, "--json", "--max-new", "6"};
        arguments.insert(arguments.end(), prompt.begin(), prompt.end());
        const Json result = Json::parse(testing::expect_success(arguments).out, "standard output");
        return *result.find("tokens");
    };
    // The template writes its own <s>, and the tokenizer adds none.
    EXPECT_EQ(tokens({"hi", "--chat"}), tokens({"[user] hi\n[assistant]"}));
}

}  // namespace
}  // namespace tessera
