// The bytes of a Message: for each rank, the number of values of every node type, int64, and then
// the values type by type, each type's padded to 8 bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/exchange.h"

namespace ramet {

// Values of one node type for every rank: counts[rank] of them, those for rank 0 first.
template <typename T>
struct Values {
  std::span<const int64_t> counts;
  std::span<const T> values;
};

// The same values for all ranks.
template <typename T>
class ForAll {
 public:
  ForAll() = default;
  ForAll(std::span<const T> values, size_t ranks) : counts_(ranks, std::ssize(values)) {
    for (size_t rank = 0; rank < ranks; ++rank)
      all_.insert(all_.end(), values.begin(), values.end());
  }
  [[nodiscard]] Values<T> values() const { return {counts_, all_}; }

 private:
  std::vector<int64_t> counts_;
  std::vector<T> all_;
};

inline constexpr int64_t kMessageUnit = 8;

constexpr int64_t padded_to_message_unit(int64_t bytes) {
  return (bytes + kMessageUnit - 1) / kMessageUnit * kMessageUnit;
}

template <typename T>
Message write_message(std::span<const Values<T>> types, size_t ranks, BufferPool& pool) {
  Message message;
  message.bytes.assign(ranks, static_cast<int64_t>(types.size()) * kMessageUnit);
  int64_t total = 0;
  for (size_t rank = 0; rank < ranks; ++rank) {
    for (const Values<T>& type : types)
      message.bytes[rank] +=
          padded_to_message_unit(type.counts[rank] * static_cast<int64_t>(sizeof(T)));
    total += message.bytes[rank];
  }
  message.data = pool.allocate_array(DType::kUInt8, {total});
  auto* out = static_cast<char*>(message.data.data);
  std::vector<size_t> taken(types.size());
  for (size_t rank = 0; rank < ranks; ++rank) {
    for (const Values<T>& type : types) {
      std::memcpy(out, &type.counts[rank], kMessageUnit);
      out += kMessageUnit;
    }
    for (size_t t = 0; t < types.size(); ++t) {
      const auto count = static_cast<size_t>(types[t].counts[rank]);
      const size_t bytes = count * sizeof(T);
      const auto room = static_cast<size_t>(padded_to_message_unit(static_cast<int64_t>(bytes)));
      if (count > 0) std::memcpy(out, types[t].values.data() + taken[t], bytes);
      std::memset(out + bytes, 0, room - bytes);
      taken[t] += count;
      out += room;
    }
  }
  return message;
}

// A message of what values_of(type) gives for every node type.
template <typename T, typename ValuesOf>
Message message_of(size_t num_types, size_t ranks, BufferPool& pool, ValuesOf&& values_of) {
  std::vector<Values<T>> types;
  for (size_t t = 0; t < num_types; ++t)
    types.push_back(values_of(t));
  return write_message<T>(types, ranks, pool);
}

// What came from every rank. The spans lie in the message.
template <typename T>
class MessageReader {
 public:
  // kCorrupt where a rank's bytes are not `types` lists of values. `heads`: of a message in memory
  // of a device a copy of the numbers that each rank's bytes begin with.
  MessageReader(const Message& message, size_t ranks, size_t types, const int64_t* heads = nullptr)
      : types_(types) {
    if (message.bytes.size() != ranks || reinterpret_cast<uintptr_t>(message.data.data) % 8 != 0)
      throw_invalid("a message of ", message.bytes.size(), " ranks, expected ", ranks,
                    " and an address that is a multiple of 8");
    const auto* at = static_cast<const char*>(message.data.data);
    int64_t left = message.data.bytes();
    for (size_t rank = 0; rank < ranks; ++rank) {
      const int64_t bytes = message.bytes[rank];
      if (bytes < 0 || bytes > left) throw_bad_message(rank, bytes);
      read_rank(rank, at, bytes, heads == nullptr ? nullptr : heads + rank * types);
      at += bytes;
      left -= bytes;
    }
    if (left > 0) throw_invalid("a message has ", left, " bytes more than the ranks sent");
  }

  // Of node type `type`, from `rank`.
  [[nodiscard]] std::span<const T> values(size_t type, size_t rank) const {
    return values_[rank * types_ + type];
  }

 private:
  void read_rank(size_t rank, const char* at, int64_t bytes, const int64_t* counts) {
    const auto head = static_cast<int64_t>(types_) * kMessageUnit;
    if (bytes < head) throw_bad_message(rank, bytes);
    if (counts == nullptr) counts = reinterpret_cast<const int64_t*>(at);
    int64_t first = head;
    for (size_t t = 0; t < types_; ++t) {
      const int64_t count = counts[t];
      if (count < 0 || count > (bytes - first) / static_cast<int64_t>(sizeof(T)))
        throw_bad_message(rank, bytes);
      values_.emplace_back(reinterpret_cast<const T*>(at + first), static_cast<size_t>(count));
      first += padded_to_message_unit(count * static_cast<int64_t>(sizeof(T)));
    }
    if (first != bytes) throw_bad_message(rank, bytes);
  }

  [[noreturn]] static void throw_bad_message(size_t rank, int64_t bytes) {
    throw_error(ErrorCode::kCorrupt, "rank ", rank, " sent ", bytes, " bytes that are no message");
  }

  size_t types_;
  std::vector<std::span<const T>> values_;  // by rank and type
};

}  // namespace ramet
