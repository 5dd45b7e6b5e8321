// Ids by position, over memory of others: what the map, the sort and the bisection read.
//
// Both views have the same members. order_word(i, depth) is what sorts them: the 8 bytes of an id
// from byte `depth` on, as a number, with zeros behind its end. rest(i, depth) is the number of its
// bytes from there on.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/prefetch.h"
#include "ramet/error.h"
#include "ramet/id_map.h"

namespace ramet {

static_assert(std::endian::native == std::endian::little);

// kInvalidArgument unless there is a position for each id.
inline void require_room(const IdList& list, size_t num_positions) {
  if (count_ids(list) != static_cast<int64_t>(num_positions))
    throw_invalid("there are ", count_ids(list), " ids, and room for ", num_positions,
                  " positions");
}

// Integers in a form that compares as unsigned.
class IntegerIds {
 public:
  using Id = uint64_t;

  IntegerIds() = default;
  IntegerIds(const void* values, int64_t size, DType dtype)
      : values_(static_cast<const uint64_t*>(values)),
        size_(static_cast<size_t>(size)),
        flip_(dtype == DType::kInt64 ? uint64_t{1} << 63 : 0) {}

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] Id operator[](size_t i) const { return values_[i] ^ flip_; }
  void prefetch_entry(size_t i) const { prefetch(values_ + i); }
  void prefetch_bytes(size_t) const {}
  [[nodiscard]] uint64_t order_word(size_t i, size_t) const { return (*this)[i]; }
  [[nodiscard]] size_t rest(size_t, size_t) const { return sizeof(Id); }

 private:
  const uint64_t* values_ = nullptr;
  size_t size_ = 0;
  uint64_t flip_ = 0;
};

class TextIds {
 public:
  using Id = std::string_view;

  TextIds() = default;
  // `location`: how errors name the offsets; it outlives the view.
  TextIds(const void* text,
          int64_t num_bytes,
          const int64_t* offsets,
          int64_t size,
          const std::string& location)
      : text_(static_cast<const char*>(text)),
        num_bytes_(num_bytes),
        offsets_(offsets),
        size_(static_cast<size_t>(size)),
        location_(&location) {}

  [[nodiscard]] size_t size() const { return size_; }
  // kCorrupt where the offsets are no part of the text.
  [[nodiscard]] Id operator[](size_t i) const {
    const int64_t begin = offsets_[i], end = offsets_[i + 1];
    if (begin < 0 || begin > end || end > num_bytes_)
      throw_corrupt(*location_, "entry ", i, ": the text from ", begin, " to ", end,
                    " is outside the ", num_bytes_, " bytes");
    return {text_ + begin, static_cast<size_t>(end - begin)};
  }
  void prefetch_entry(size_t i) const { prefetch(offsets_ + i); }
  void prefetch_bytes(size_t i) const {
    prefetch(text_ + offsets_[i]);
    prefetch(text_ + offsets_[i + 1]);
  }
  [[nodiscard]] uint64_t order_word(size_t i, size_t depth) const {
    const Id id = (*this)[i];
    uint64_t word = 0;
    if (depth < id.size())
      std::memcpy(&word, id.data() + depth, std::min(id.size() - depth, sizeof word));
    return __builtin_bswap64(word);
  }
  [[nodiscard]] size_t rest(size_t i, size_t depth) const {
    const size_t length = (*this)[i].size();
    return length - std::min(length, depth);
  }

 private:
  const char* text_ = nullptr;
  int64_t num_bytes_ = 0;
  const int64_t* offsets_ = nullptr;
  size_t size_ = 0;
  const std::string* location_ = nullptr;
};

// kInvalidArgument for ids that are no texts.
inline TextIds text_ids(const IdList& ids) {
  static const std::string kLocation = "the offsets of ids";
  if (ids.values.dtype != DType::kUInt8 || ids.offsets.data == nullptr)
    throw_invalid("ids are ", ids.values.describe(), ", expected uint8 of text and its offsets");
  return {ids.values.data, ids.values.rows(), ids.offsets.as<int64_t>().data(),
          ids.offsets.rows() - 1, kLocation};
}

}  // namespace ramet
