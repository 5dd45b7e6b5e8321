#include "ramet/error.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>

using namespace ramet;

TEST_CASE("concat writes strings, characters and numbers one after the other") {
  const char* literal = "step";
  CHECK(concat(literal, " is ", int64_t{-7}, ',', std::string(" of "), std::string_view("9"), ' ',
               uint8_t{200},
               uint64_t{18446744073709551615U}) == "step is -7, of 9 20018446744073709551615");
}

TEST_CASE("throw_error and throw_invalid throw Errors of the parts") {
  try {
    throw_error(ErrorCode::kCorrupt, "entry ", 3, " of 'x'");
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::kCorrupt);
    CHECK(e.what() == std::string("entry 3 of 'x'"));
  }
  try {
    throw_invalid("threads is ", -1);
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::kInvalidArgument);
    CHECK(e.what() == std::string("threads is -1"));
  }
  CHECK_THROWS_WITH_AS(require_index(3, 3, "step"), "step is 3, outside [0, 3)", Error);
}
