// From the id of a node to its position in the batch's list of nodes: what turns ids into local
// ids and finds nodes that the batch has already.
//
// Both tables store start + position, where start grows with every batch by the nodes of the batch
// before, so an entry of an older batch is below start and reads as empty: a batch clears nothing,
// and 32 bits last for 2^32 nodes, whatever the number of batches. (The idea of the stamp; an array
// with the position in it, Briggs and Torczon: "An efficient representation for sparse sets", 1993,
// needs a second access to tell old from new.) One thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "base/grow_array.h"
#include "base/prefetch.h"
#include "ramet/buffer_pool.h"
#include "ramet/ownership.h"
#include "slot_multiplier.h"

namespace ramet {

// relabel() finds its slots in the second-level cache, which request_slot() has them fetched into a
// chunk ago. So many ids ahead it has them fetched on into the first: a store that misses it holds
// up those behind it.
inline constexpr size_t kNear = 32;

// A key as the number that is hashed.
template <typename Id>
constexpr uint64_t key_bits(Id id) {
  return static_cast<uint64_t>(id);
}

// The nodes of one type in a batch, in the order in which they were found. `Key`: what tells them
// apart.
template <typename Key>
class NodeList {
 public:
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] Key* data() { return nodes_.data(); }
  [[nodiscard]] std::span<const Key> ids() const { return {nodes_.data(), size_}; }

  // Makes room for `capacity` ids; those that are there stay.
  void reserve(size_t capacity) { nodes_.reserve(capacity, size_); }
  void set_size(size_t size) { size_ = size; }

 private:
  GrowArray<Key> nodes_;
  size_t size_ = 0;
};

// The start of the current batch, and when the table has to be cleared after all.
class BatchStart {
 public:
  // Moves past a batch of `num_nodes`; false if the table must be cleared.
  [[nodiscard]] bool advance(size_t num_nodes) {
    const uint64_t next = value_ + uint64_t{num_nodes};
    const bool room_for_largest = next < uint64_t{1} << 31;
    value_ = room_for_largest ? static_cast<uint32_t>(next) : 1;
    return room_for_largest;
  }
  [[nodiscard]] uint32_t value() const { return value_; }

 private:
  uint32_t value_ = 1;  // 0 is what cleared memory holds
};

// A zeroed array on large pages where the system gives them: the tables are read at random.
template <typename T>
class ZeroedArray {
 public:
  ZeroedArray() = default;
  explicit ZeroedArray(size_t size)
      : size_(size),
        memory_(BufferPool::create()->allocate(static_cast<int64_t>(size * sizeof(T)))) {
    clear();
  }
  void clear() {
    if (size_ > 0) std::memset(memory_.get(), 0, size_ * sizeof(T));
  }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] T* data() const { return static_cast<T*>(memory_.get()); }

 private:
  size_t size_ = 0;
  std::shared_ptr<void> memory_;
};

// 4 bytes for every node of a range of ids, found without a search. Whether a node is new is not
// branched on: it is as good as random, and a mispredicted branch costs more than the store.
class DirectTable {
 public:
  explicit DirectTable(NodeRange range)
      : first_(range.begin), slots_(static_cast<size_t>(range.size())) {}

  [[nodiscard]] bool fits(NodeRange range) const {
    return range.begin == first_ && static_cast<size_t>(range.size()) <= slots_.size();
  }
  void start_batch(size_t nodes_before) {
    if (!start_.advance(nodes_before)) slots_.clear();
  }
  // Inserts the first nodes of a batch; of several that are equal the first counts.
  template <typename Id>
  void insert(const NodeList<Id>& nodes) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      uint32_t& slot = slots_.data()[nodes.ids()[i] - first_];
      if (slot - start_.value() >= i) slot = start_.value() + static_cast<uint32_t>(i);
    }
  }
  template <typename Id>
  void reserve(size_t /*num_nodes*/, const NodeList<Id>& /*nodes*/) {}
  template <typename Id>
  void request_slot(Id node) const {
    prefetch(&slots_.data()[node - first_]);
  }

  // local[i] = position of ids[i] in `nodes`, which has room for all of them and one more; new ones
  // are appended.
  template <typename Id>
  void relabel(std::span<const Id> ids, NodeList<Id>& nodes, int32_t* local) {
    uint32_t* slots = slots_.data();
    const auto first = static_cast<Id>(first_);
    Id* list = nodes.data();
    const uint32_t start = start_.value();
    auto size = static_cast<uint32_t>(nodes.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      if (i + kNear < ids.size()) __builtin_prefetch(&slots[ids[i + kNear] - first], 1);
      const Id node = ids[i];
      const uint32_t found = slots[node - first] - start;
      const bool is_new = found >= size;
      const uint32_t position = is_new ? size : found;
      slots[node - first] = start + position;
      list[size] = node;
      size += is_new ? 1 : 0;
      local[i] = static_cast<int32_t>(position);
    }
    nodes.set_size(size);
  }

 private:
  int64_t first_;
  ZeroedArray<uint32_t> slots_;
  BatchStart start_;
};

// Open addressing with linear probing: memory grows with the largest batch, not with the graph.
// Keys have == and key_bits().
template <typename Key>
class HashTable {
 public:
  explicit HashTable(uint64_t multiplier = unpredictable_slot_multiplier())
      : multiplier_(multiplier) {}

  void start_batch(size_t nodes_before) {
    if (!start_.advance(nodes_before)) slots_.clear();
  }

  // Makes room for `num_nodes` in all, at most two thirds full; `nodes` are those in it. No memory
  // for none: a graph may have types that no batch meets.
  void reserve(size_t num_nodes, const NodeList<Key>& nodes) {
    if (num_nodes == 0) return;
    const size_t wanted = std::max(kLeastSlots, std::bit_ceil(num_nodes + num_nodes / 2 + 1));
    if (wanted <= slots_.size()) return;
    slots_ = ZeroedArray<Slot>(wanted);
    shift_ = 64 - std::countr_zero(wanted);
    start_ = {};
    insert(nodes);
  }
  void insert(const NodeList<Key>& nodes) {
    for (size_t i = 0; i < nodes.size(); ++i)
      find_or_insert(nodes.ids()[i], static_cast<uint32_t>(i));
  }
  void request_slot(Key node) const { prefetch(&slots_.data()[home(node)]); }

  // The position of `node` among the `size` nodes in the table; `size` where it is not one of them.
  [[nodiscard]] uint32_t find(Key node, uint32_t size) const {
    const Slot* slots = slots_.data();
    const size_t mask = slots_.size() - 1;
    for (size_t i = home(node);; i = (i + 1) & mask) {
      const uint32_t found = slots[i].value - start_.value();
      if (found >= size) return size;
      if (slots[i].node == node) return found;
    }
  }

  // As DirectTable's; reserve() has made room.
  void relabel(std::span<const Key> ids, NodeList<Key>& nodes, int32_t* local) {
    const Slot* slots = slots_.data();
    Key* list = nodes.data();
    auto size = static_cast<uint32_t>(nodes.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      if (i + kNear < ids.size()) __builtin_prefetch(&slots[home(ids[i + kNear])], 1);
      const uint32_t position = find_or_insert(ids[i], size);
      list[size] = ids[i];
      size += position == size ? 1 : 0;
      local[i] = static_cast<int32_t>(position);
    }
    nodes.set_size(size);
  }

 private:
  struct Slot {
    Key node;
    uint32_t value;
  };

  [[nodiscard]] size_t home(Key node) const { return (key_bits(node) * multiplier_) >> shift_; }

  // The position of `node`: below `size` if it is in the table, else `size`, which it then gets.
  uint32_t find_or_insert(Key node, uint32_t size) {
    Slot* slots = slots_.data();
    const size_t mask = slots_.size() - 1;
    for (size_t i = home(node);; i = (i + 1) & mask) {
      const uint32_t found = slots[i].value - start_.value();
      if (found >= size) {
        slots[i] = {node, start_.value() + size};
        return size;
      }
      if (slots[i].node == node) return found;
    }
  }

  static constexpr size_t kLeastSlots = 64;
  uint64_t multiplier_;
  ZeroedArray<Slot> slots_;
  int shift_ = 63;
  BatchStart start_;
};

}  // namespace ramet
