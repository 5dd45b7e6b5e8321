// Damage to files: by chance from a seed, and one file at a time by a test.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "errors.h"
#include "ramet/error.h"
#include "ramet/store.h"
#include "ramet/store_writer.h"
#include "store_fixture.h"
#include "temp_dir.h"

namespace ramet::test {

// Reads every byte that the store hands out, so that a wrong bound is a fault here.
inline int64_t touch(const Store& store) {
  int64_t sum = 0;
  for (const auto& [name, array] : store.arrays()) {
    const std::string bytes = bytes_of(array);
    sum = std::accumulate(bytes.begin(), bytes.end(), sum);
  }
  return sum;
}

using Random = std::mt19937;

inline std::string flip(std::string bytes, size_t range, Random& random) {
  for (size_t flips = 1 + random() % 4; flips > 0 && !bytes.empty(); --flips)
    bytes[random() % std::min(range, bytes.size())] ^= static_cast<char>(1u << random() % 8);
  return bytes;
}

inline std::string damage(std::string bytes, Random& random) {
  // Most of what there is to break stands in the first bytes.
  const size_t range = random() % 2 ? 128 : bytes.size();
  const size_t at = bytes.empty() ? 0 : random() % bytes.size();
  const std::string noise = flip(std::string(1 + random() % 64, '\x5a'), 64, random);
  switch (random() % 6) {
    case 0:
    case 1:
      return flip(std::move(bytes), range, random);
    case 2:
      return bytes.substr(0, at);
    case 3:
      return bytes + noise;
    case 4:
      return bytes.insert(std::min(at, range), noise);
    default:
      return bytes.replace(std::min(at, range), noise.size(), noise);
  }
}

// True if the damage was found.
template <typename Open>
bool survives(Open open) {
  try {
    const auto store = open();
    static_cast<void>(touch(*store));
    return false;
  } catch (const Error& error) {
    CHECK(std::string(error.what()).size() < 1000);
    return true;
  }
}

// Damages a file of the folder in each of `rounds` rounds. How often `open` found it.
template <typename Open>
int count_found(const std::string& folder, int rounds, unsigned seed, Open open) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  files.insert(files.end(), 3, folder + "/ramet.txt");
  Random random(seed);
  int found = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::string& file = files[random() % files.size()];
    const std::string good = read_file(file);
    write_file(file, damage(good, random));
    CAPTURE(round);
    found += survives(open);
    write_file(file, good);
  }
  return found;
}

// A store in which one file is something else.
class Broken {
 public:
  Broken() { write_store(dir_ / "store", small_graph().contents); }

  [[nodiscard]] std::string operator/(const std::string& name) const {
    return dir_ / "store/" + name;
  }
  void is(ErrorCode code, const std::vector<std::string>& words) const {
    check_throws(code, words, [&] { return Store::open(dir_ / "store"); });
  }
  void with(const std::string& file,
            const std::string& bytes,
            const std::vector<std::string>& words) const {
    write_file(*this / file, bytes);
    is(ErrorCode::kCorrupt, words);
  }

 private:
  TempDir dir_;
};

}  // namespace ramet::test
