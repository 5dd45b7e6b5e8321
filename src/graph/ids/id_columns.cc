#include "graph/ids/id_columns.h"

#include "base/utf8.h"

namespace ramet {
namespace {

uint64_t fold(uint64_t a, uint64_t b) {
  const uint128_t product = static_cast<uint128_t>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

void TextColumn::check(const Ids& ids, size_t i) const {
  if (!is_utf8(ids[i])) throw_invalid("id ", i, " is not UTF-8");
}

uint64_t TextColumn::hash(uint64_t key, std::string_view id) {
  const uint64_t other = mix64(key);
  uint64_t h = key ^ id.size();
  for (; id.size() > kTwoWords; id.remove_prefix(kTwoWords)) {
    const auto [first, last] = words_of(id.substr(0, kTwoWords));
    h = fold(h ^ first, other ^ last);
  }
  const auto [first, last] = words_of(id);
  return mix64(fold(h ^ first, other ^ last));
}

void TextColumn::append(const IdList& ids, size_t i) {
  const int64_t* given = ids.offsets.as<int64_t>().data() + i;
  const int64_t begin = num_bytes(), length = given[1] - given[0];
  text_->grow(begin + length);
  offsets_->grow((size_ + 2) * int64_t{sizeof(int64_t)});
  if (length > 0)
    std::memcpy(text_->as<char>() + begin, static_cast<const char*>(ids.values.data) + given[0],
                static_cast<size_t>(length));
  offsets_->as<int64_t>()[++size_] = begin + length;
}

}  // namespace ramet
