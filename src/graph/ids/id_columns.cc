#include "graph/ids/id_columns.h"

#include "base/utf8.h"

namespace ramet {
namespace {

uint64_t fold(uint64_t a, uint64_t b) {
  const uint128_t product = static_cast<uint128_t>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t word_at(const char* bytes, size_t count) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, count);
  return word;
}

}  // namespace

void TextColumn::check(const Ids& ids) const {
  for (size_t i = 0; i < ids.size(); ++i)
    if (!is_utf8(ids[i])) throw_invalid("id ", i, " is not UTF-8");
}

uint64_t TextColumn::hash(uint64_t key, std::string_view id) {
  const uint64_t other = mix64(key);
  uint64_t h = key ^ id.size();
  while (id.size() >= 16) {
    h = fold(h ^ word_at(id.data(), 8), other ^ word_at(id.data() + 8, 8));
    id.remove_prefix(16);
  }
  const size_t first = std::min<size_t>(id.size(), 8);
  h = fold(h ^ word_at(id.data(), first), other ^ word_at(id.data() + first, id.size() - first));
  return mix64(h);
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
