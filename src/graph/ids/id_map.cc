#include "ramet/id_map.h"

#include <vector>

#include "base/parallel.h"
#include "graph/ids/id_columns.h"
#include "graph/ids/id_slots.h"
#include "graph/ids/sort_ids.h"

namespace ramet {
namespace {

// Ids whose slots and texts are asked for together, so that memory is waited for once.
constexpr size_t kAtOnce = 64;
constexpr int64_t kFindGrain = 1 << 14;

template <typename Column>
class HashedIds final : public IdMap {
 public:
  using Ids = typename Column::Ids;

  HashedIds(const std::string& kind, const std::string& folder)
      : folder_(folder), column_(kind, folder), slots_(folder), key_(random_bits()) {
    static_cast<void>(slots_.make_room(kAtOnce));
  }

  void add(std::span<const IdList> lists,
           std::span<const bool> absent,
           std::span<int64_t> positions,
           int threads) override {
    if (is_sealed_) throw_invalid("ids cannot be added once arrays() was called");
    if (!absent.empty() && absent.size() != positions.size())
      throw_invalid("absent is of ", absent.size(), " ids, expected ", positions.size());
    const size_t rows = lists.empty() ? 0 : positions.size() / lists.size();
    if (rows * lists.size() != positions.size())
      throw_invalid("there is room for ", positions.size(),
                    " positions, expected a multiple of the ", lists.size(), " lists of ids");
    const auto is_absent = [&](size_t number) { return !absent.empty() && absent[number]; };
    std::vector<Ids> views;
    for (const IdList& list : lists) {
      require_room(list, rows);
      views.push_back(column_.view_of(list));
    }
    for (size_t i = 0; i < lists.size(); ++i)
      find_in(views[i], positions.data() + i, lists.size(), threads, [&](size_t row) {
        if (!is_absent(row * lists.size() + i)) column_.check(views[i], row);
      });
    size_t unknown[kAtOnce], count = 0;
    for (size_t number = 0; number < positions.size(); ++number) {
      if (is_absent(number))
        positions[number] = -1;
      else if (positions[number] < 0)
        unknown[count++] = number;
      if (count < kAtOnce && number + 1 < positions.size()) continue;
      add_some(lists, views, {unknown, count}, positions);
      count = 0;
    }
  }

  void find(const IdList& list, std::span<int64_t> positions, int threads) const override {
    require_room(list, positions.size());
    find_in(column_.view_of(list), positions.data(), 1, threads, [](size_t) {});
  }

  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] int64_t memory() const override { return column_.memory() + slots_.memory(); }

  [[nodiscard]] std::map<std::string, Array> arrays(int threads) override {
    const bool wide = size_ > INT32_MAX;
    const auto order = std::make_shared<GrowingMemory>(folder_, "the order of ids");
    sort_ids(view_, wide, *order, threads);
    is_sealed_ = true;
    auto result = column_.arrays();
    result.emplace("order", array_over(order, wide ? DType::kInt64 : DType::kInt32, size_));
    return result;
  }

 private:
  // Writes every `step`th position, and calls on_unknown(row).
  void find_in(
      const Ids& ids, int64_t* positions, size_t step, int threads, const auto& on_unknown) const {
    const auto find_some = [&](int64_t first, int64_t end) {
      for (auto begin = static_cast<size_t>(first); begin < static_cast<size_t>(end);
           begin += kAtOnce) {
        const size_t count = std::min(kAtOnce, static_cast<size_t>(end) - begin);
        uint64_t hashes[kAtOnce];
        look_ahead(ids, begin, count, hashes);
        for (size_t i = 0; i < count; ++i) {
          const int64_t position = position_of(ids[begin + i], hashes[i]);
          if (position < 0) on_unknown(begin + i);
          positions[(begin + i) * step] = position;
        }
      }
    };
    parallel_for(static_cast<int64_t>(ids.size()), kFindGrain, threads, find_some);
  }

  // The ids numbered `unknown`, which may be equal.
  void add_some(std::span<const IdList> lists,
                std::span<const Ids> views,
                std::span<const size_t> unknown,
                std::span<int64_t> positions) {
    if (slots_.make_room(unknown.size())) insert_again();
    uint64_t hashes[kAtOnce];
    for (size_t i = 0; i < unknown.size(); ++i) {
      const size_t list = unknown[i] % lists.size(), row = unknown[i] / lists.size();
      hashes[i] = Column::hash(key_, views[list][row]);
      slots_.prefetch_slot(hashes[i]);
    }
    for (size_t i = 0; i < unknown.size(); ++i) {
      const size_t list = unknown[i] % lists.size(), row = unknown[i] / lists.size();
      int64_t position = position_of(views[list][row], hashes[i]);
      if (position < 0) {
        column_.append(lists[list], row);
        slots_.insert(hashes[i]);
        view_ = column_.view();
        position = size_++;
      }
      positions[unknown[i]] = position;
    }
  }

  // Hashes, and memory on its way: of the slots, then of the ids that they name.
  void look_ahead(const Ids& ids, size_t begin, size_t count, uint64_t* hashes) const {
    int64_t likely[kAtOnce];
    for (size_t i = 0; i < count; ++i) {
      hashes[i] = Column::hash(key_, ids[begin + i]);
      slots_.prefetch_slot(hashes[i]);
    }
    for (size_t i = 0; i < count; ++i) {
      likely[i] = slots_.find(hashes[i], [](int64_t) { return true; });
      if (likely[i] >= 0) view_.prefetch_entry(static_cast<size_t>(likely[i]));
    }
    for (size_t i = 0; i < count; ++i)
      if (likely[i] >= 0) view_.prefetch_bytes(static_cast<size_t>(likely[i]));
  }

  [[nodiscard]] int64_t position_of(const typename Ids::Id& id, uint64_t hash) const {
    return slots_.find(hash, [&](int64_t position) {
      return Column::are_equal(view_[static_cast<size_t>(position)], id);
    });
  }

  // By position, so that ids are read in their order.
  void insert_again() {
    const auto size = static_cast<size_t>(size_);
    for (size_t begin = 0; begin < size; begin += kAtOnce) {
      const size_t count = std::min(kAtOnce, size - begin);
      uint64_t hashes[kAtOnce];
      for (size_t i = 0; i < count; ++i) {
        hashes[i] = Column::hash(key_, view_[begin + i]);
        slots_.prefetch_slot(hashes[i]);
      }
      for (size_t i = 0; i < count; ++i)
        slots_.insert(hashes[i]);
    }
  }

  std::string folder_;
  Column column_;
  Ids view_;
  IdSlots slots_;
  uint64_t key_;
  int64_t size_ = 0;
  bool is_sealed_ = false;
};

}  // namespace

std::unique_ptr<IdMap> IdMap::create(const std::string& kind, const std::string& folder) {
  if (kind == "int64" || kind == "uint64")
    return std::make_unique<HashedIds<IntegerColumn>>(kind, folder);
  if (kind == "text" || kind == "tuple")
    return std::make_unique<HashedIds<TextColumn>>(kind, folder);
  throw_invalid("the kind of ids is '", kind, "', expected int64, uint64, text or tuple");
}

int64_t count_ids(const IdList& ids) {
  if (ids.values.shape.size() != 1) throw_invalid("ids are ", ids.values.describe());
  if (ids.offsets.data == nullptr) return ids.values.rows();
  if (ids.offsets.dtype != DType::kInt64 || ids.offsets.shape.size() != 1 ||
      ids.offsets.rows() == 0)
    throw_invalid("the offsets of ids are ", ids.offsets.describe(), ", expected int64 [n + 1]");
  const auto offsets = ids.offsets.as<int64_t>();
  if (offsets.front() < 0 || offsets.back() > ids.values.rows() ||
      !std::is_sorted(offsets.begin(), offsets.end()))
    throw_invalid("the offsets of ids do not rise from 0 on within the ", ids.values.rows(),
                  " bytes of text");
  return ids.offsets.rows() - 1;
}

}  // namespace ramet
