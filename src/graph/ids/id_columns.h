// The ids of a map, by position, in memory that grows: integers, or texts and their offsets.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "graph/ids/id_views.h"
#include "ramet/random.h"
#include "storage/growing_memory.h"

namespace ramet {

// `rows` of memory as an array that keeps it.
inline Array array_over(const std::shared_ptr<GrowingMemory>& memory, DType dtype, int64_t rows) {
  return {.data = memory->as<void>(), .dtype = dtype, .shape = {rows}, .owner = memory};
}

// Texts of up to two words are told by them, without a call of memcmp() or memcpy(): the first and
// the last bytes, which overlap where there are fewer. With the size they are the text.
constexpr size_t kTwoWords = 2 * sizeof(uint64_t);

template <typename Word>
std::pair<uint64_t, uint64_t> ends_of(std::string_view text) {
  Word first, last;
  std::memcpy(&first, text.data(), sizeof first);
  std::memcpy(&last, text.data() + text.size() - sizeof last, sizeof last);
  return {first, last};
}

inline std::pair<uint64_t, uint64_t> words_of(std::string_view text) {
  if (text.size() >= 8) return ends_of<uint64_t>(text);
  if (text.size() >= 4) return ends_of<uint32_t>(text);
  if (text.size() >= 2) return ends_of<uint16_t>(text);
  return {text.empty() ? 0 : static_cast<unsigned char>(text[0]), 0};
}

class IntegerColumn {
 public:
  using Ids = IntegerIds;

  IntegerColumn(const std::string& kind, const std::string& folder)
      : dtype_(kind == "int64" ? DType::kInt64 : DType::kUInt64),
        values_(std::make_shared<GrowingMemory>(folder, "ids")) {}

  [[nodiscard]] Ids view_of(const IdList& ids) const {
    if (ids.values.dtype != dtype_ || ids.offsets.data != nullptr)
      throw_invalid("ids are ", ids.values.describe(), ", expected ", name(dtype_));
    return {ids.values.data, ids.values.rows(), dtype_};
  }
  void check(const Ids&, size_t) const {}
  [[nodiscard]] static uint64_t hash(uint64_t key, uint64_t id) { return mix64(id ^ key); }
  [[nodiscard]] static bool are_equal(uint64_t one, uint64_t other) { return one == other; }

  void append(const IdList& ids, size_t i) {
    values_->grow((size_ + 1) * int64_t{sizeof(uint64_t)});
    values_->as<uint64_t>()[size_++] = ids.values.as<uint64_t>()[i];
  }
  [[nodiscard]] Ids view() const { return {values_->as<void>(), size_, dtype_}; }
  [[nodiscard]] int64_t memory() const {
    return values_->is_file() ? 0 : size_ * int64_t{sizeof(uint64_t)};
  }
  [[nodiscard]] std::map<std::string, Array> arrays() const {
    return {{"value", array_over(values_, dtype_, size_)}};
  }

 private:
  DType dtype_;
  std::shared_ptr<GrowingMemory> values_;
  int64_t size_ = 0;
};

class TextColumn {
 public:
  using Ids = TextIds;

  TextColumn(const std::string& kind, const std::string& folder)
      : kind_(kind),
        text_(std::make_shared<GrowingMemory>(folder, "the text of ids")),
        offsets_(std::make_shared<GrowingMemory>(folder, "the offsets of ids")) {
    offsets_->grow(sizeof(int64_t));
  }

  [[nodiscard]] Ids view_of(const IdList& ids) const { return text_ids(ids); }
  void check(const Ids& ids, size_t i) const;
  // Products of 64 bits folded to 64, two words at a time. Who does not know the key cannot make
  // ids that collide.
  [[nodiscard]] static uint64_t hash(uint64_t key, std::string_view id);
  [[nodiscard]] static bool are_equal(std::string_view one, std::string_view other) {
    if (one.size() > kTwoWords) return one == other;
    return one.size() == other.size() && words_of(one) == words_of(other);
  }

  void append(const IdList& ids, size_t i);
  [[nodiscard]] Ids view() const {
    return {text_->as<void>(), num_bytes(), offsets_->as<int64_t>(), size_, kind_};
  }
  [[nodiscard]] int64_t memory() const {
    return text_->is_file() ? 0 : num_bytes() + (size_ + 1) * int64_t{sizeof(int64_t)};
  }
  [[nodiscard]] std::map<std::string, Array> arrays() const {
    return {{kind_, array_over(text_, DType::kUInt8, num_bytes())},
            {"offset", array_over(offsets_, DType::kInt64, size_ + 1)}};
  }

 private:
  [[nodiscard]] int64_t num_bytes() const { return offsets_->as<int64_t>()[size_]; }

  std::string kind_;
  std::shared_ptr<GrowingMemory> text_, offsets_;
  int64_t size_ = 0;
};

}  // namespace ramet
