// An action must throw one Error whose text holds every one of the given parts.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string>

#include "tessera/core/error.h"

namespace tessera::testing {

inline void expect_error(const std::function<void()>& action, std::initializer_list<std::string> parts) {
    try {
        action();
        ADD_FAILURE() << "no error was thrown";
    } catch (const Error& error) {
        for (const std::string& part : parts)
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
                << "'" << error.what() << "' lacks '" << part << "'";
    }
}

}  // namespace tessera::testing
