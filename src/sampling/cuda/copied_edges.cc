// A topology in place with copies of some of its in-edges in device memory.
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/per_process.h"
#include "device/device_memory.h"
#include "kernels/cuda_backend.h"
#include "kernels/cuda_csc.h"
#include "ramet/cuda_sampler.h"
#include "ramet/error.h"

namespace ramet {
namespace {

static_assert(CudaGraph::kEdgeGroup == kEdgeGroup);

// The groups of one edge type. Kernels copy them from where the device reads `edges` in place.
class Copies {
 public:
  Copies() = default;
  Copies(const EdgeType& edges, const void* in_place, std::span<const int64_t> groups, int device) {
    const int64_t whole = edges.num_edges() / kEdgeGroup;
    const int64_t group_bytes = kEdgeGroup * edges.indices.row_bytes();
    std::vector<int32_t> slots(static_cast<size_t>(whole + 1), -1);
    for (size_t slot = 0; slot < groups.size(); ++slot) {
      if (groups[slot] < 0 || groups[slot] >= whole)
        throw_invalid("group ", groups[slot], " of in-edges of edge type '", edges.encoded,
                      "', expected at most ", whole - 1);
      if (slot > 0 && groups[slot] <= groups[slot - 1])
        throw_invalid("group ", groups[slot], " of in-edges of edge type '", edges.encoded,
                      "' comes after group ", groups[slot - 1], ", expected ascending groups");
      slots[static_cast<size_t>(groups[slot])] = static_cast<int32_t>(slot);
    }
    slots_ = copy_on(device, slots.data(), std::ssize(slots) * int64_t{sizeof(int32_t)});
    indices_ = allocate_on(device, std::ssize(groups) * group_bytes);
    const auto ids = copy_on(device, groups.data(), static_cast<int64_t>(groups.size_bytes()));
    const CudaBackend& cuda = require_cuda();
    cuda.rows.gather(device,
                     {.table = in_place,
                      .num_rows = whole,
                      .row_bytes = group_bytes,
                      .ids = ids.get(),
                      .wide_ids = true,
                      .num_ids = std::ssize(groups),
                      .out = indices_.get(),
                      .on_host = true},
                     nullptr);
    cuda.runtime.synchronize(device, nullptr);
  }
  [[nodiscard]] const int32_t* slots() const { return static_cast<const int32_t*>(slots_.get()); }
  [[nodiscard]] const void* indices() const { return indices_.get(); }

 private:
  std::shared_ptr<void> slots_, indices_;
};

class GraphWithCopies final : public CudaGraph {
 public:
  GraphWithCopies(std::shared_ptr<const CudaGraph> in_place, const EdgeGroups& groups)
      : in_place_(std::move(in_place)), copies_(groups.size()) {
    const std::vector<EdgeType>& types = graph()->edge_types();
    for (size_t type = 0; type < types.size(); ++type) {
      if (!groups[type].empty())
        copies_[type] = {types[type], in_place_->indices(type), groups[type], device()};
    }
  }
  GraphWithCopies(const GraphWithCopies&) = delete;
  GraphWithCopies& operator=(const GraphWithCopies&) = delete;

  // Kernels may still read what dies with it.
  ~GraphWithCopies() override {
    try {
      require_cuda().runtime.synchronize_all(device());
    } catch (const Error&) {
      // A kernel's own failure, or a forked child, to which nothing here belongs.
    }
  }

  const std::shared_ptr<const Graph>& graph() const override { return in_place_->graph(); }
  int device() const override { return in_place_->device(); }
  Location placement() const override { return in_place_->placement(); }
  const int64_t* indptr(size_t type) const override { return in_place_->indptr(type); }
  const void* indices(size_t type) const override { return in_place_->indices(type); }
  const int32_t* slots_of_copies(size_t type) const override { return copies_[type].slots(); }
  const void* copied_indices(size_t type) const override { return copies_[type].indices(); }
  const void* edge_ids(size_t type) const override { return in_place_->edge_ids(type); }
  const void* table(const Array& array) const override { return in_place_->table(array); }

 private:
  const std::shared_ptr<const CudaGraph> in_place_;
  std::vector<Copies> copies_;  // by edge type
};

// What is alive in this process, by the topology in place, which each keeps alive.
struct SharedCopies {
  std::mutex mutex;
  std::map<const CudaGraph*, std::weak_ptr<const CudaGraph>> graphs;

  std::shared_ptr<const CudaGraph> find(const CudaGraph* in_place) {
    std::erase_if(graphs, [](const auto& entry) { return entry.second.expired(); });
    const auto found = graphs.find(in_place);
    return found == graphs.end() ? nullptr : found->second.lock();
  }
};

}  // namespace

std::shared_ptr<const CudaGraph> CudaGraph::with_copies(
    const std::shared_ptr<const CudaGraph>& in_place, const std::function<EdgeGroups()>& choose) {
  if (in_place->placement() != Location::kInPlace)
    throw_invalid("topology is '", name(in_place->placement()), "', expected 'in_place'");
  static auto* const shared = new PerProcess<SharedCopies>;
  SharedCopies& all = shared->get();
  {
    const std::lock_guard lock(all.mutex);
    if (auto found = all.find(in_place.get())) return found;
  }
  const EdgeGroups groups = choose();  // takes long
  const size_t types = in_place->graph()->edge_types().size();
  if (groups.size() != types)
    throw_invalid("groups of in-edges of ", groups.size(), " edge types, expected ", types);
  bool is_none = true;
  for (const std::vector<int64_t>& of_type : groups)
    is_none &= of_type.empty();
  if (is_none) return in_place;
  const std::lock_guard lock(all.mutex);
  auto found = all.find(in_place.get());
  if (found == nullptr) {
    found = std::make_shared<const GraphWithCopies>(in_place, groups);
    all.graphs[in_place.get()] = found;
  }
  return found;
}

}  // namespace ramet
