// IdMap: positions of users' ids, by first occurrence: the first id is at 0, the next new one at 1.
//
// Ids are 64-bit integers, or texts. An integer takes 19 to 24 bytes; a text its own, and 19 to 24.
// Memory: the map's; with a folder it is in files without a name there, which the kernel may write
// out. Threads: add() alone, or find() by any. Forks: not for a child. Failure: kNoSpace and kIo of
// add() leave a map that is only to be destroyed; else a call that throws has had no effect.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "ramet/array.h"

namespace ramet {

// Ids one after the other.
struct IdList {
  Array values;        // int64 or uint64 [n], or uint8 [bytes] of texts
  Array offsets = {};  // of texts int64 [n + 1]: text i is the bytes offsets[i] to offsets[i + 1]
};

class IdMap {
 public:
  // kind: "int64", "uint64", "text", or "tuple": texts that are JSON arrays. kInvalidArgument for
  // another.
  [[nodiscard]] static std::unique_ptr<IdMap> create(const std::string& kind,
                                                     const std::string& folder = "");
  virtual ~IdMap() = default;

  // The position of each id of k lists of one length n, [n, k]. New ids are numbered row by row:
  // the first of each list, then the second. `absent`: none, or [n, k]: which are no ids; these get
  // -1. kInvalidArgument for ids of another kind, for text that is not UTF-8, and once arrays() was
  // called.
  virtual void add(std::span<const IdList> lists,
                   std::span<const bool> absent,
                   std::span<int64_t> positions,
                   int threads = 0) = 0;
  // The position of each id, -1 of unknown ones.
  virtual void find(const IdList& ids, std::span<int64_t> positions, int threads = 0) const = 0;

  [[nodiscard]] virtual int64_t size() const = 0;
  // Bytes of memory that are in no file.
  [[nodiscard]] virtual int64_t memory() const = 0;

  // What a store keeps, by name: "value" [size], or "text" or "tuple" uint8 [bytes] and "offset"
  // [size + 1], and "order", int32 or int64 [size]: positions sorted by id. They outlive the map.
  [[nodiscard]] virtual std::map<std::string, Array> arrays(int threads = 0) = 0;
};

// How many ids there are. kInvalidArgument unless offsets rise within the bytes.
[[nodiscard]] int64_t count_ids(const IdList& ids);

// The integers, int64_t or uint64_t, that texts are as they are normally written: 7 is one, and 007
// and +7 are none, for which `is_parsed` is false and the value is 0. Returns whether all are
// integers. kInvalidArgument for ids that are no texts, and as of count_ids().
template <typename Integer>
bool parse_ids(const IdList& texts,
               std::span<Integer> values,
               std::span<bool> is_parsed,
               int threads = 0);

extern template bool parse_ids(const IdList&, std::span<int64_t>, std::span<bool>, int);
extern template bool parse_ids(const IdList&, std::span<uint64_t>, std::span<bool>, int);

}  // namespace ramet
