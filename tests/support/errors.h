// What errors say.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ramet/error.h"

namespace ramet::test {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The message of the Error of this code that `action` throws; "" where it throws none.
template <typename Action>
std::string message_of(ErrorCode code, Action action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(static_cast<int>(error.code()) == static_cast<int>(code));
    return error.what();
  }
  return "";
}

// `action` throws an Error of this code whose message has all of `words`.
template <typename Action>
void check_throws(ErrorCode code, const std::vector<std::string>& words, Action action) {
  const std::string message = message_of(code, action);
  CAPTURE(message);
  REQUIRE_FALSE(message.empty());
  for (const std::string& word : words) {
    CAPTURE(word);
    CHECK(contains(message, word));
  }
}

}  // namespace ramet::test
