#include <algorithm>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "base/row_groups.h"
#include "packed.h"
#include "parts.h"
#include "ramet/buffer_pool.h"
#include "ramet/row_exchange.h"

namespace ramet {
namespace {

constexpr int64_t kPushedAtOnce = 4096;  // rows
constexpr int64_t kStays = -1;

// Whether each entry, counted through all lists, is the last that names its row.
std::vector<uint8_t> last_of_rows(std::span<const RowList> lists,
                                  const RowPositions& positions,
                                  size_t total,
                                  int threads) {
  std::vector<uint8_t> is_last(total);
  RowGroups groups(lists, positions.num_positions(), 0, positions.num_positions());
  groups.visit(threads, [&](const RowBucket& bucket) {
    for (size_t first = 0, last; first < bucket.entries.size(); first = last) {
      last = bucket.end_of_row(first);
      is_last[static_cast<size_t>(bucket.position(last - 1))] = 1;
    }
  });
  return is_last;
}

// What goes to whom.
class Push {
 public:
  Push(std::span<const RowList> lists,
       const RowPositions& positions,
       const std::vector<bool>& is_local,
       Repeats repeats,
       int threads)
      : lists_(lists), counts_(is_local.size(), std::vector<int64_t>(lists.size())) {
    size_t total = 0;
    for (const RowList& list : lists) {
      check_list(list);
      total += list.ids.size();
    }
    std::vector<uint8_t> travels(total, 1);
    if (repeats == Repeats::kLast) travels = last_of_rows(lists, positions, total, threads);
    const PartOfPosition part_of(positions);
    size_t number = 0;
    for (size_t l = 0; l < lists.size(); ++l) {
      for (const int64_t position : lists[l].ids) {
        const size_t part = part_of(position);
        const bool stays = travels[number++] == 0 || is_local[part];
        parts_.push_back(static_cast<uint16_t>(part));
        numbers_.push_back(stays ? kStays : counts_[part][l]++);
      }
    }
  }

  [[nodiscard]] Message write(const std::vector<bool>& is_local, int threads) {
    Message message;
    int64_t total = 0;
    for (size_t part = 0; part < is_local.size(); ++part) {
      message.bytes.push_back(is_local[part] ? 0 : bytes_of(part));
      total += message.bytes.back();
    }
    message.data = BufferPool::shared()->allocate_array(DType::kUInt8, {total});
    auto* out = static_cast<std::byte*>(message.data.data);
    ids_at_.assign(is_local.size(), {});
    rows_at_ = ids_at_;
    for (size_t part = 0; part < is_local.size(); ++part)
      if (!is_local[part]) out = lay_out(part, out);
    size_t first = 0;
    for (size_t l = 0; l < lists_.size(); ++l) {
      copy_list(l, first, threads);
      first += lists_[l].ids.size();
    }
    return message;
  }

 private:
  [[nodiscard]] int64_t bytes_of(size_t part) const {
    int64_t bytes = head_bytes(std::ssize(lists_));
    for (size_t l = 0; l < lists_.size(); ++l) {
      const int64_t count = counts_[part][l];
      bytes += padded_to_pack_unit(count * kWord) +
               padded_to_pack_unit(count * lists_[l].rows.row_bytes());
    }
    return bytes;
  }

  // The head for a part, and where its ids and rows go; returns the end.
  std::byte* lay_out(size_t part, std::byte* out) {
    out = write_head(lists_, counts_[part], out);
    const auto take = [&](int64_t bytes) {
      std::byte* at = out;
      out += padded_to_pack_unit(bytes);
      std::memset(at + bytes, 0, static_cast<size_t>(padded_to_pack_unit(bytes) - bytes));
      return at;
    };
    for (size_t l = 0; l < lists_.size(); ++l) {
      ids_at_[part].push_back(take(counts_[part][l] * kWord));
      rows_at_[part].push_back(take(counts_[part][l] * lists_[l].rows.row_bytes()));
    }
    return out;
  }

  // `first`: the position of the list's first row.
  void copy_list(size_t l, size_t first, int threads) const {
    const auto& [ids, rows] = lists_[l];
    const int64_t row_bytes = rows.row_bytes();
    const auto* from = static_cast<const std::byte*>(rows.data);
    parallel_for(
        std::ssize(ids), kPushedAtOnce, threads, [&, ids = ids](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const size_t position = first + static_cast<size_t>(i);
            const int64_t number = numbers_[position];
            if (number == kStays) continue;
            const size_t part = parts_[position];
            std::memcpy(ids_at_[part][l] + number * kWord, &ids[static_cast<size_t>(i)], kWord);
            if (row_bytes > 0)
              std::memcpy(rows_at_[part][l] + number * row_bytes, from + i * row_bytes,
                          static_cast<size_t>(row_bytes));
          }
        });
  }

  std::span<const RowList> lists_;
  std::vector<uint16_t> parts_;                  // by position: the owner
  std::vector<int64_t> numbers_;                 // by position: which of the list's rows for it
  std::vector<std::vector<int64_t>> counts_;     // by owner and list
  std::vector<std::vector<std::byte*>> ids_at_;  // by owner and list
  std::vector<std::vector<std::byte*>> rows_at_;
};

}  // namespace

Message push(std::span<const RowList> lists,
             const RowPositions& positions,
             const std::vector<bool>& is_local,
             Repeats repeats,
             int threads) {
  return Push(lists, positions, is_local, repeats, threads).write(is_local, threads);
}

}  // namespace ramet
