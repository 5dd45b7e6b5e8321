// Which widths of ids a graph needs, and the two phases of building it: edge_runs.h, row_sort.h.
#include "ramet/external_csc.h"

#include "csc_files.h"
#include "edge_runs.h"
#include "graph/check_edges.h"
#include "graph/edge_arrays.h"
#include "memory_plan.h"
#include "ramet/error.h"
#include "row_sort.h"

namespace ramet {

struct ExternalCsc::State {
  State() = default;
  virtual ~State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  virtual void add(const Array& src, const Array& dst) = 0;
  virtual Result finish(const CscPaths& paths, const Progress& progress) = 0;
};

namespace {

template <typename T, typename Index>
class Building final : public ExternalCsc::State {
 public:
  Building(const std::string& folder, const GraphSize& size, const MemoryPlan& plan)
      : folder_(folder),
        size_(size),
        plan_(plan),
        arena_(plan.arena_bytes),
        edges_(folder, size, plan_, arena_) {}

  void add(const Array& src, const Array& dst) override {
    with_ids(src, [&](auto sources) {
      using Given = typename decltype(sources)::value_type;
      const auto destinations = dst.as<std::remove_const_t<Given>>();
      check_range(sources, size_.num_src, "source", edges_.num_edges());
      check_range(destinations, size_.num_dst, "destination", edges_.num_edges());
      require_usable();
      usable_ = false;
      edges_.add(sources, destinations);
      usable_ = true;
    });
  }

  ExternalCsc::Result finish(const CscPaths& paths, const Progress& progress) override {
    require_usable();
    usable_ = false;
    edges_.finish();
    const bool narrow = width_for(edges_.num_edges() * (size_.undirected ? 2 : 1)) == DType::kInt32;
    return narrow ? write<int32_t>(paths, progress) : write<int64_t>(paths, progress);
  }

 private:
  void require_usable() const {
    if (!usable_) throw_invalid("this ExternalCsc is finished, or a call has failed");
  }

  template <typename Id>
  ExternalCsc::Result write(const CscPaths& paths, const Progress& progress) {
    CscFiles<Index, Id> files(paths);
    RowSort<Index, Id>(folder_, size_, plan_, arena_, files, progress)
        .run(Level<typename EdgeRuns<T, Index>::Stored>{edges_.runs(), edges_.buckets(),
                                                        edges_.numbers(), false});
    files.finish();
    return {files.num_edges(), files.has_edge_ids()};
  }

  std::string folder_;
  GraphSize size_;
  MemoryPlan plan_;
  Arena arena_;
  EdgeRuns<T, Index> edges_;
  bool usable_ = true;
};

}  // namespace

ExternalCsc::ExternalCsc(const std::string& folder,
                         int64_t num_src,
                         int64_t num_dst,
                         const ExternalCscOptions& options) {
  require_sizes(num_src, num_dst, options.undirected, options.threads);
  if (options.memory < kLeastMemory)
    throw_invalid("memory is ", options.memory, " bytes, expected at least ", kLeastMemory);
  const GraphSize size{num_src, num_dst, options.undirected};
  const MemoryPlan plan(options.memory, options.threads);
  if (width_for(num_src) == DType::kInt64)
    state_ = std::make_unique<Building<int64_t, int64_t>>(folder, size, plan);
  else if (width_for(num_dst) == DType::kInt64)
    state_ = std::make_unique<Building<int64_t, int32_t>>(folder, size, plan);
  else
    state_ = std::make_unique<Building<int32_t, int32_t>>(folder, size, plan);
}

ExternalCsc::~ExternalCsc() = default;
ExternalCsc::ExternalCsc(ExternalCsc&&) noexcept = default;

void ExternalCsc::add(const Array& src, const Array& dst) {
  require_edges(src, dst);
  state_->add(src, dst);
}

ExternalCsc::Result ExternalCsc::finish(const CscPaths& paths, const Progress& progress) {
  return state_->finish(paths, progress);
}

}  // namespace ramet
