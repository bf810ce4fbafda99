// Which turns of a conversation are left out for want of room.
#include "tessera/inference/chat.h"

#include <gtest/gtest.h>

namespace tessera::inference {
namespace {

// Messages by their roles' first letters, each of so many tokens.
std::vector<ChatMessage> conversation(const std::string& roles) {
    std::vector<ChatMessage> messages;
    for (const char role : roles) messages.push_back({.role = role == 'u' ? "user" : "assistant", .content = "text"});
    return messages;
}

std::size_t shown_from(const std::string& roles, std::int64_t most, std::int64_t each = 10) {
    const auto messages = conversation(roles);
    return first_shown(messages, most, [&](std::size_t first) {
        EXPECT_TRUE(first == 0 || messages[first].role == "user");
        return static_cast<std::int64_t>(messages.size() - first) * each;
    });
}

TEST(ChatTurns, WholeTurnsAreLeftOutUntilTheRestFits) {
    EXPECT_EQ(shown_from("uauau", 50), 0u);
    EXPECT_EQ(shown_from("uauau", 49), 2u);
    EXPECT_EQ(shown_from("uauau", 30), 2u);
    EXPECT_EQ(shown_from("uauau", 29), 4u);
    EXPECT_EQ(shown_from("uauau", 1), 4u);    // the last stays, and is too long
    EXPECT_EQ(shown_from("uaauau", 40), 3u);  // both answers leave with their question
    EXPECT_EQ(shown_from("auau", 30), 1u);    // an answer to nothing leaves first
    EXPECT_EQ(shown_from("u", 1), 0u);
    EXPECT_EQ(shown_from("aa", 1), 0u);
    EXPECT_EQ(shown_from("", 1), 0u);
}

TEST(ChatTurns, AreCountedFewTimes) {
    std::string roles;
    for (int turn = 0; turn < 5000; ++turn) roles += "ua";
    const auto messages = conversation(roles + "u");
    int counted = 0;
    const std::size_t first = first_shown(messages, 100, [&](std::size_t from) {
        ++counted;
        return static_cast<std::int64_t>(messages.size() - from);
    });
    EXPECT_EQ(messages.size() - first, 99u);
    EXPECT_LE(counted, 15);
}

}  // namespace
}  // namespace tessera::inference
