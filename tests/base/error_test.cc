#include "ramet/error.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "support/errors.h"

using namespace ramet;

TEST_CASE("concat writes strings, characters and numbers one after the other") {
  const char* literal = "step";
  CHECK(concat(literal, " is ", int64_t{-7}, ',', std::string(" of "), std::string_view("9"), ' ',
               uint8_t{200},
               uint64_t{18446744073709551615U}) == "step is -7, of 9 20018446744073709551615");
}

TEST_CASE("throw_error and throw_invalid throw Errors of the parts") {
  CHECK(test::message_of(ErrorCode::kCorrupt, [] {
          throw_error(ErrorCode::kCorrupt, "entry ", 3, " of 'x'");
        }) == "entry 3 of 'x'");
  CHECK(test::message_of(ErrorCode::kInvalidArgument, [] { throw_invalid("threads is ", -1); }) ==
        "threads is -1");
  CHECK_THROWS_WITH_AS(require_index(3, 3, "step"), "step is 3, outside [0, 3)", Error);
}
