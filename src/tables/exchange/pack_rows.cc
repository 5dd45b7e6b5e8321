#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "packed.h"
#include "ramet/row_exchange.h"

namespace ramet {
namespace {

constexpr int64_t kBytesOfCopy = int64_t{1} << 18;

// Of a part and its padding; returns the end.
std::byte* copy(const void* from, int64_t bytes, std::byte* to, int threads) {
  parallel_for(bytes, kBytesOfCopy, threads, [&](int64_t begin, int64_t end) {
    std::memcpy(to + begin, static_cast<const std::byte*>(from) + begin,
                static_cast<size_t>(end - begin));
  });
  std::memset(to + bytes, 0, static_cast<size_t>(padded_to_pack_unit(bytes) - bytes));
  return to + padded_to_pack_unit(bytes);
}

// Takes parts off the front of bytes that somebody else has written.
class Unpacker {
 public:
  Unpacker(std::span<const std::byte> bytes, const std::string& sender)
      : bytes_(bytes), sender_(sender) {
    if (reinterpret_cast<uintptr_t>(bytes.data()) % kWord != 0)
      refuse("at an address that is no multiple of ", kWord);
  }

  [[nodiscard]] int64_t left() const { return std::ssize(bytes_) - taken_; }

  // `count` items, and their padding.
  const std::byte* take(int64_t count, int64_t item_bytes, const char* what) {
    const bool is_there = count >= 0 && (item_bytes == 0 || count <= left() / item_bytes);
    if (!is_there || padded_to_pack_unit(count * item_bytes) > left())
      refuse("with ", left(), " bytes left for ", count, " ", what);
    const std::byte* at = bytes_.data() + taken_;
    taken_ += padded_to_pack_unit(count * item_bytes);
    return at;
  }

  template <typename... Why>
  [[noreturn]] void refuse(const Why&... why) const {
    throw_error(ErrorCode::kCorrupt, sender_, " sent ", bytes_.size(), " bytes of rows ", why...);
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& sender_;
  int64_t taken_ = 0;
};

DType dtype_of(int64_t code, const RowForm& form, const Unpacker& from) {
  for (const DType dtype : {form.dtype, DType::kFloat32}) {
    if (code == static_cast<int64_t>(dtype)) return dtype;
  }
  from.refuse("whose dtype has the code ", code, ", expected ", name(form.dtype));
}

void check_positions(std::span<const int64_t> ids, int64_t num_positions, const Unpacker& from) {
  const auto outside = std::find_if(ids.begin(), ids.end(), [&](int64_t id) {
    return static_cast<uint64_t>(id) >= static_cast<uint64_t>(num_positions);
  });
  if (outside != ids.end())
    from.refuse("for position ", *outside, ", outside the ", num_positions, " positions");
}

}  // namespace

int64_t packed_bytes(std::span<const RowList> lists) {
  int64_t bytes = head_bytes(std::ssize(lists));
  for (const RowList& list : lists)
    bytes +=
        padded_to_pack_unit(std::ssize(list.ids) * kWord) + padded_to_pack_unit(list.rows.bytes());
  return bytes;
}

void pack(std::span<const RowList> lists, std::byte* out, int threads) {
  std::vector<int64_t> counts;
  for (const RowList& list : lists) {
    check_list(list);
    counts.push_back(std::ssize(list.ids));
  }
  out = write_head(lists, counts, out);
  for (const RowList& list : lists) {
    out = copy(list.ids.data(), list.rows.rows() * kWord, out, threads);
    out = copy(list.rows.data, list.rows.bytes(), out, threads);
  }
}

std::vector<RowList> unpack(std::span<const std::byte> bytes,
                            const RowForm& form,
                            int64_t num_positions,
                            const std::string& sender) {
  Unpacker from(bytes, sender);
  if (from.left() < kWord) from.refuse("without a head");
  const auto* head = reinterpret_cast<const int64_t*>(bytes.data());
  const int64_t count = head[0];
  if (count < 0 || count > from.left() / (kWordsOfList * kWord))
    from.refuse("that cannot be ", count, " lists");
  from.take(1 + kWordsOfList * count, kWord, "words of the head");
  std::vector<RowList> lists;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t length = head[1 + kWordsOfList * i];
    RowForm of_list = form;
    of_list.dtype = dtype_of(head[2 + kWordsOfList * i], form, from);
    const auto* ids = reinterpret_cast<const int64_t*>(from.take(length, kWord, "ids"));
    const std::byte* rows = from.take(length, of_list.row_bytes(), "rows");
    lists.push_back(
        {{ids, static_cast<size_t>(length)},
         {const_cast<std::byte*>(rows), of_list.dtype, of_list.shape_of(length), nullptr}});
    check_positions(lists.back().ids, num_positions, from);
  }
  if (from.left() != 0) from.refuse("with ", from.left(), " bytes too many");
  return lists;
}

}  // namespace ramet
