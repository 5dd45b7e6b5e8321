// Damaged .npy headers, each kind with its own message. docs/format.md, section 2.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/damage.h"

namespace ramet::test {
namespace {

const char* const kFeatFile = "node/paper/feat.npy";

// A version 1.0 file: `dict` padded to put the data at byte 128.
std::string npy_bytes(std::string dict, const std::string& data = std::string(8, 'x')) {
  dict.resize(118, ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + dict + data;
}

TEST_CASE(".npy: everything before the dictionary") {
  const Broken store;
  const auto with = [&](const std::string& bytes, std::vector<std::string> words) {
    words.push_back(store / kFeatFile);
    store.with(kFeatFile, bytes, words);
  };
  const std::string good = read_file(store / kFeatFile);
  const auto replaced = [&](size_t at, const std::string& bytes) {
    return std::string(good).replace(at, bytes.size(), bytes);
  };
  with("", {"0 bytes", "too few"});
  with(good.substr(0, 11), {"11 bytes", "too few"});
  with(replaced(0, "PK"), {"not a .npy file"});
  with(replaced(6, "\x03"), {"version 3.0", "versions 1.0 and 2.0"});
  with(replaced(7, "\x01"), {"version 1.1"});
  with(good.substr(0, 4000), {"header of 4096 bytes", "file of 4000"});
  with(good.substr(0, good.size() - 1), {"47 bytes of data", "<f4 (4, 3)", "needs 48"});
  with(good + "x", {"49 bytes of data", "needs 48"});
  with(replaced(8, std::string("\xf7\x0f", 2)), {"byte 4097", "multiple of 16"});
  with(replaced(6, std::string("\x02\x00\xff\xff\xff\xff", 6)), {"4294967307", "at most 65536"});
  with(replaced(8, std::string("\x06\x00", 2)), {"byte 1 of the dictionary", "does not end"});
}

TEST_CASE(".npy: the dictionary") {
  const Broken store;
  const auto with = [&](const std::string& dict, std::vector<std::string> words) {
    words.push_back(store / kFeatFile);
    store.with(kFeatFile, npy_bytes(dict), words);
  };
  const std::string order = "'fortran_order': False, ", shape = "'shape': (2,)",
                    f4 = "'descr': '<f4', ";
  with("{'descr': '>f4', " + order + shape + "}", {"'>f4'", "big-endian"});
  for (const char* type : {"<c8", "|O", "<U4", "<M8[ns]", "<f16", "f4", "", "<i1", "=i4"})
    with("{'descr': '" + std::string(type) + "', " + order + shape + "}",
         {"element type '" + std::string(type), "<f4"});
  with("{'descr': [('a', '<f4')], " + order + shape + "}", {"string is expected"});
  with("{" + f4 + "'fortran_order': True, " + shape + "}", {"fortran_order"});
  with("{" + f4 + "'fortran_order': 0, " + shape + "}", {"True or False"});
  with("{" + order + shape + "}", {"'descr' is missing"});
  with("{" + f4 + shape + "}", {"'fortran_order' is missing"});
  with("{" + f4 + order + "}", {"'shape' is missing"});
  with("{" + f4 + f4 + order + shape + "}", {"'descr'", "twice"});
  with("{" + f4 + order + shape + ", 'x': 1}", {"unknown key 'x'"});
  with("{" + f4 + order + shape + "} x", {"more after the dictionary"});
  with("{" + f4 + order + shape, {"'}' is expected"});
  with("{" + f4 + order + shape + ",,}", {"string is expected"});
  with("{'descr' '<f4', " + order + shape + "}", {"':' is expected"});
  with("{'de\\x73cr': '<f4', " + order + shape + "}", {"escape"});
  with("{'descr: ", {"does not end"});
  with("__import__('os')", {"'{' is expected"});
}

TEST_CASE(".npy: the shape") {
  const Broken store;
  const auto with = [&](const std::string& shape, const std::vector<std::string>& words) {
    store.with(kFeatFile,
               npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}"),
               words);
  };
  with("()", {"0 dimensions", "1 to 8"});
  with("(1,1,1,1,1,1,1,1,2)", {"more than 8 dimensions"});
  with("(2)", {"no tuple"});
  with("[2]", {"'(' is expected"});
  with("(,)", {"number"});
  with("(1 2)", {"comma"});
  with("(-2,)", {"number"});
  with("(2L,)", {"expected"});
  with("(02,)", {"number"});
  with("(9223372036854775808,)", {"number from 0 to 2^62"});
  with("(4611686018427387904,)", {"more than 2^63 bytes"});
  with("(2147483648, 2147483648)", {"more than 2^63 bytes"});
  with("(0, 2147483648, 2147483648)", {"more than 2^63 bytes"});
  with("(1152921504606846976, 1)", {"needs 4611686018427387904"});
  with("(3,)", {"8 bytes of data", "needs 12"});
  with("(0,)", {"8 bytes of data", "needs 0"});
}

}  // namespace
}  // namespace ramet::test
