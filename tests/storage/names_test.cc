// Encoded names: docs/format.md, section 3.
#include <doctest/doctest.h>

#include <random>
#include <string>

#include "ramet/store.h"
#include "support/store_fixture.h"

namespace ramet::test {
namespace {

TEST_CASE("names in file names") {
  const std::pair<const char*, const char*> cases[] = {
      {"paper", "paper"}, {"a-b.c_d", "a-b.c_d"}, {".x", "%2Ex"},
      {"..", "%2E."},     {"_", "%5F"},           {"_a_", "%5Fa%5F"},
      {"a__b", "a_%5Fb"}, {"a___b", "a_%5F%5Fb"}, {"a b/c", "a%20b%2Fc"},
      {"100%", "100%25"}, {"\xc3\xa9", "%C3%A9"}, {"__", "%5F%5F"}};
  for (const auto& [plain, encoded] : cases) {
    CHECK(encode_name(plain) == encoded);
    CHECK(decode_name(encoded) == plain);
  }
}

TEST_CASE("any name comes back, and no encoded name holds two underscores in a row") {
  std::mt19937 random(7);
  const std::string letters = "a_.%/ \n-\x01Z";
  for (int i = 0; i < 2000; ++i) {
    std::string name(1 + random() % 80, ' ');
    for (char& c : name)
      c = letters[random() % letters.size()];
    const std::string encoded = encode_name(name);
    CHECK(decode_name(encoded) == name);
    CHECK(encoded.find("__") == std::string::npos);
    CHECK(encoded.front() != '.');
    CHECK(encoded.find('/') == std::string::npos);
  }
}

TEST_CASE("what is no name") {
  const auto encode = [](const std::string& name) { return [name] { return encode_name(name); }; };
  check_throws(ErrorCode::kInvalidArgument, {"is empty"}, encode(""));
  check_throws(ErrorCode::kInvalidArgument, {"81 bytes", "at most 80"},
               encode(std::string(81, 'a')));
  CHECK(encode_name(std::string(80, 'a')).size() == 80);
  for (const char* bad : {"\xff", "a\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80"})
    check_throws(ErrorCode::kInvalidArgument, {"UTF-8", "\\x"}, encode(bad));
}

TEST_CASE("what is no encoded name") {
  for (const char* bad :
       {"a__b", "_a", "a_", ".a", "a b", "%4", "%", "%61", "%c3%a9", "%G1", "a/b"})
    check_throws(ErrorCode::kCorrupt, {"not an encoded name", bad},
                 [&] { return decode_name(bad); });
  check_throws(ErrorCode::kCorrupt, {"empty"}, [] { return decode_name(""); });
  check_throws(ErrorCode::kCorrupt, {"UTF-8"}, [] { return decode_name("%FF"); });
}

}  // namespace
}  // namespace ramet::test
