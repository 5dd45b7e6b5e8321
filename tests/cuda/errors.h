// What an error says.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "ramet/error.h"

namespace ramet::test {

// The message of the Error of this code that `body` throws; "" where it throws none.
template <typename Body>
std::string message_of(ErrorCode code, Body body) {
  try {
    body();
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace ramet::test
