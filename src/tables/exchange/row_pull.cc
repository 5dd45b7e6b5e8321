#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "base/narrow.h"
#include "base/parallel.h"
#include "base/prefetch.h"
#include "base/row_groups.h"
#include "parts.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/row_exchange.h"

namespace ramet {
namespace {

constexpr int64_t kIdBytes = sizeof(int64_t);
constexpr int64_t kPulledAtOnce = 1024;  // rows
constexpr int64_t kAhead = 4;            // rows
constexpr int64_t kLine = 64;

// A rank's bytes end at a multiple of 8, where the next one's begin.
constexpr int64_t whole_words(int64_t bytes) {
  return (bytes + kIdBytes - 1) / kIdBytes * kIdBytes;
}

std::span<const int64_t> positions_from(const Message& requests, size_t rank, int64_t start) {
  const int64_t bytes = requests.bytes[rank];
  if (bytes < 0 || bytes % kIdBytes != 0 || bytes > requests.data.bytes() - start)
    throw_error(ErrorCode::kCorrupt, "rank ", rank, " sent ", bytes, " bytes that are no requests");
  return requests.data.as<int64_t>().subspan(static_cast<size_t>(start / kIdBytes),
                                             static_cast<size_t>(bytes / kIdBytes));
}

void check_own(std::span<const int64_t> positions, NodeRange own, size_t rank) {
  const auto outside = std::find_if(positions.begin(), positions.end(), [&](int64_t position) {
    return position < own.begin || position >= own.end;
  });
  if (outside != positions.end())
    throw_error(ErrorCode::kCorrupt, "rank ", rank, " asked for position ", *outside,
                ", but this rank's lie in [", own.begin, ", ", own.end, ")");
}

// Rows that this process's addresses have: where they lie, or gathered from a device.
class LocalRows {
 public:
  // `at`: not negative of rows that others sent.
  LocalRows(const Array& rows,
            std::span<const int64_t> wanted,
            std::span<const int64_t> at,
            int threads)
      : data_(static_cast<const char*>(rows.data)), row_bytes_(rows.row_bytes()), rows_(wanted) {
    if (rows.device == kHost) return;
    std::vector<int64_t> positions;
    for (size_t i = 0; i < wanted.size(); ++i) {
      numbers_.push_back(std::ssize(positions));
      if (at[i] < 0) positions.push_back(wanted[i]);
    }
    gathered_ = Table(rows).gather(positions, threads);
    data_ = static_cast<const char*>(gathered_.data);
    rows_ = numbers_;
  }
  LocalRows(const LocalRows&) = delete;
  LocalRows& operator=(const LocalRows&) = delete;

  [[nodiscard]] const char* row(int64_t i) const {
    return data_ + rows_[static_cast<size_t>(i)] * row_bytes_;
  }

 private:
  const char* data_;
  int64_t row_bytes_;
  std::span<const int64_t> rows_;  // by position
  std::vector<int64_t> numbers_;
  Array gathered_;
};

void request_row(const char* row, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += kLine)
    prefetch(row + at);
}

}  // namespace

RowPull::RowPull(std::span<const int64_t> wanted,
                 const RowPositions& positions,
                 const std::vector<bool>& is_local,
                 const RowForm& form)
    : wanted_(wanted),
      row_bytes_(form.row_bytes()),
      counts_(is_local.size()),
      at_(wanted.size(), -1) {
  const RowList list{wanted, {}};
  RowGroups groups(std::span(&list, 1), positions.num_positions(), 0, positions.num_positions());
  const PartOfPosition part_of(positions);
  size_t latest = 0;
  int64_t next = 0;  // byte of the answers
  // One thread: in ascending order.
  groups.visit(1, [&](const RowBucket& bucket) {
    for (size_t first = 0, last; first < bucket.entries.size(); first = last) {
      last = bucket.end_of_row(first);
      const int64_t position = bucket.row(first);
      const size_t part = part_of(position);
      if (is_local[part]) continue;
      if (part != latest) next = whole_words(next);
      latest = part;
      asked_.push_back(position);
      ++counts_[part];
      for (size_t i = first; i < last; ++i)
        at_[static_cast<size_t>(bucket.position(i))] = next;
      next += row_bytes_;
    }
  });
}

Message RowPull::requests() const {
  Message message;
  for (const int64_t count : counts_)
    message.bytes.push_back(count * kIdBytes);
  message.data =
      BufferPool::shared()->allocate_array(DType::kUInt8, {std::ssize(asked_) * kIdBytes});
  if (!asked_.empty())
    std::memcpy(message.data.data, asked_.data(), asked_.size() * sizeof(int64_t));
  return message;
}

Message RowPull::answer(const Message& requests, const Table& rows, NodeRange own, int threads) {
  const int64_t row_bytes = rows.rows().row_bytes();
  Message message;
  std::vector<std::span<const int64_t>> positions;
  int64_t start = 0, total = 0;
  for (size_t rank = 0; rank < requests.bytes.size(); ++rank) {
    positions.push_back(positions_from(requests, rank, start));
    check_own(positions.back(), own, rank);
    start += requests.bytes[rank];
    message.bytes.push_back(whole_words(std::ssize(positions.back()) * row_bytes));
    total += message.bytes.back();
  }
  message.data = BufferPool::shared()->allocate_array(DType::kUInt8, {total});
  auto* out = static_cast<char*>(message.data.data);
  for (size_t rank = 0; rank < positions.size(); ++rank) {
    const int64_t bytes = std::ssize(positions[rank]) * row_bytes;
    if (bytes > 0) rows.gather(positions[rank], out, threads);
    std::memset(out + bytes, 0, static_cast<size_t>(message.bytes[rank] - bytes));
    out += message.bytes[rank];
  }
  return message;
}

void RowPull::finish(const Message& answers,
                     const Array& rows,
                     const Array& out,
                     int threads) const {
  int64_t total = 0;
  for (size_t rank = 0; rank < counts_.size(); ++rank) {
    const int64_t expected = whole_words(counts_[rank] * row_bytes_);
    if (answers.bytes.size() != counts_.size() || answers.bytes[rank] != expected)
      throw_error(ErrorCode::kCorrupt, "rank ", rank, " answered ", counts_[rank],
                  " requests not by ", expected, " bytes");
    total += expected;
  }
  if (answers.data.bytes() != total || rows.row_bytes() != row_bytes_ ||
      out.rows() != std::ssize(wanted_))
    throw_invalid(out.describe(), " and ", answers.data.describe(), " for ", wanted_.size(),
                  " rows of ", rows.describe());
  const int64_t width = row_bytes_ / item_size(rows.dtype), out_bytes = out.row_bytes();
  const LocalRows local(rows, wanted_, at_, threads);
  const auto row = [&](int64_t i) {
    const int64_t at = at_[static_cast<size_t>(i)];
    return at >= 0 ? static_cast<const char*>(answers.data.data) + at : local.row(i);
  };
  parallel_for(out.rows(), kPulledAtOnce, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (i + kAhead < end) request_row(row(i + kAhead), row_bytes_);
      char* to = static_cast<char*>(out.data) + i * out_bytes;
      if (out.dtype == rows.dtype)
        std::memcpy(to, row(i), static_cast<size_t>(row_bytes_));
      else
        widen_row(row(i), width, rows.dtype, reinterpret_cast<float*>(to));
    }
  });
}

}  // namespace ramet
