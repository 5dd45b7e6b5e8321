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

// DirectTable finds slots in the second-level cache, which request_slot() has them fetched into a
// chunk ago. So many ids ahead it has them fetched on into the first: a store that misses it holds
// up those behind it.
inline constexpr size_t kNear = 32;

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

// How the keys of a batch lie in a HashTable: those of a tree (trees.h) near each other, since they
// come together. Without trees, the default, anywhere.
struct KeyTrees {
  int id_bits = 63;  // the lower bits of a key, below those of its tree
  int64_t count = 1;
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
  void start_batch(size_t nodes_before, const KeyTrees& /*trees*/ = {}) {
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

// Open addressing with linear probing: memory grows with the largest batch, not with the graph. A
// slot has 32 bits of its key; the key itself, in the list of nodes, is read where they are equal.
// Most slots are empty, since a slot that another key has is a branch mispredicted.
//
// A tree has a window of slots that the second-level cache holds. It moves on from tree to tree by
// a tree's share of the table, so windows overlap, and small trees make room for large ones. Where
// trees are so uneven that a part of the table is full, keys go on anywhere.
template <typename Key>
class HashTable {
 public:
  explicit HashTable(uint64_t multiplier = unpredictable_slot_multiplier()) {
    view_.multiplier = multiplier;
  }

  void start_batch(size_t nodes_before, const KeyTrees& trees = {}) {
    if (!start_.advance(nodes_before)) slots_.clear();
    trees_ = trees;
    lay_out();
  }

  // Makes room for `num_nodes` in all, at most a third full; `nodes` are those in it. No memory
  // for none: a graph may have types that no batch meets.
  void reserve(size_t num_nodes, const NodeList<Key>& nodes) {
    if (num_nodes == 0) return;
    const size_t wanted = std::max(kLeastSlots, std::bit_ceil(3 * num_nodes));
    if (wanted <= slots_.size()) return;
    slots_ = ZeroedArray<Slot>(wanted);
    start_ = {};
    lay_out();
    insert(nodes);
  }
  void insert(const NodeList<Key>& nodes) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Key node = nodes.ids()[i];
      view_.find_or_insert(node, view_.home(node), nodes.ids().data(), static_cast<uint32_t>(i));
    }
  }

  // The position of `node` in `nodes`, which the table has; their number where it is none of them.
  [[nodiscard]] uint32_t find(Key node, const NodeList<Key>& nodes) const {
    const auto size = static_cast<uint32_t>(nodes.size());
    return view_.find(node, view_.home(node), nodes.ids().data(), size).position;
  }

  // As DirectTable's; reserve() has made room. Slots are requested a block ahead.
  void relabel(std::span<const Key> ids, NodeList<Key>& nodes, int32_t* local) {
    size_t homes[2][kBlock];
    const View view = view_;
    const auto block = [&](size_t i) {
      const size_t begin = std::min(i * kBlock, ids.size());
      return ids.subspan(begin, std::min(kBlock, ids.size() - begin));
    };
    view.request(block(0), homes[0]);
    for (size_t i = 0; i * kBlock < ids.size(); ++i) {
      view.request(block(i + 1), homes[(i + 1) % 2]);
      view.relabel(block(i), homes[i % 2], nodes, local + i * kBlock);
    }
  }

 private:
  struct Slot {
    uint32_t tag;  // the lower bits of the key
    uint32_t value;
  };
  struct Found {
    Slot& slot;
    uint32_t position;
  };

  static constexpr int kStrideBits = 24;

  // What finds slots. A loop has a copy, which its stores cannot change.
  struct View {
    Slot* slots = nullptr;
    size_t mask = 0;
    uint64_t multiplier = 0, stride = 0;  // from tree to tree, times 2^kStrideBits
    int id_bits = 0, shift = 0;           // that leaves the bits of a window's slots
    uint32_t start = 0;

    [[nodiscard]] size_t home(Key node) const {
      const auto bits = static_cast<uint64_t>(node);
      return (((bits >> id_bits) * stride >> kStrideBits) + ((bits * multiplier) >> shift)) & mask;
    }
    [[nodiscard]] size_t anywhere(Key node) const {
      return (static_cast<uint64_t>(node) * multiplier) >> (64 - std::popcount(mask));
    }

    // `node` among the first `size` of `list`; else `size`, and the slot that it would get. Where
    // the slot has the whole key, whether it is new is not branched on.
    Found find(Key node, size_t home, const Key* list, uint32_t size) const {
      const auto tag = static_cast<uint32_t>(node);
      size_t i = home;
      for (size_t step = 1;; ++step) {
        const uint32_t found = slots[i].value - start;
        const uint32_t position = std::min(found, size);
        if constexpr (sizeof(Key) == sizeof(tag)) {
          if ((found >= size) | (slots[i].tag == tag)) return {slots[i], position};
        } else {
          if (found >= size) return {slots[i], size};
          if (slots[i].tag == tag && list[found] == node) return {slots[i], found};
        }
        i = step == kNearSlots ? anywhere(node) : (i + 1) & mask;
      }
    }
    uint32_t find_or_insert(Key node, size_t home, const Key* list, uint32_t size) const {
      const Found found = find(node, home, list, size);
      found.slot = {static_cast<uint32_t>(node), start + found.position};
      return found.position;
    }

    // Into the second-level cache: most slots come from behind it, and the first has few requests
    // under way.
    void request(std::span<const Key> ids, size_t* homes) const {
      for (size_t i = 0; i < ids.size(); ++i) {
        homes[i] = home(ids[i]);
        prefetch(&slots[homes[i]]);
      }
    }
    void relabel(std::span<const Key> ids,
                 const size_t* homes,
                 NodeList<Key>& nodes,
                 int32_t* local) const {
      Key* list = nodes.data();
      auto size = static_cast<uint32_t>(nodes.size());
      for (size_t i = 0; i < ids.size(); ++i) {
        const uint32_t position = find_or_insert(ids[i], homes[i], list, size);
        list[size] = ids[i];
        size += position == size ? 1 : 0;
        local[i] = static_cast<int32_t>(position);
      }
      nodes.set_size(size);
    }
  };

  void lay_out() {
    if (slots_.size() == 0) return;
    const auto trees = static_cast<size_t>(std::max<int64_t>(trees_.count, 1));
    view_.slots = slots_.data();
    view_.mask = slots_.size() - 1;
    view_.start = start_.value();
    view_.id_bits = trees_.id_bits;
    view_.stride = (slots_.size() << kStrideBits) / trees;
    const size_t window = std::max(kWindow, std::bit_ceil(slots_.size() / trees));
    view_.shift = 64 - std::countr_zero(std::min(slots_.size(), window));
  }

  static constexpr size_t kLeastSlots = 64, kBlock = 64, kNearSlots = 32;
  static constexpr size_t kWindow = size_t{1} << 13;
  ZeroedArray<Slot> slots_;
  KeyTrees trees_;
  BatchStart start_;
  View view_;
};

}  // namespace ramet
