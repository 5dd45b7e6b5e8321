#include "walk_rows.h"

#include <string>

#include "ramet/error.h"

namespace ramet {
namespace {

template <typename T>
const T* table(const EdgeType& edges, const std::string& name) {
  if (name.empty()) return nullptr;
  const auto found = edges.tables.find(name);
  if (found == edges.tables.end())
    throw_error(ErrorCode::kNotFound, "edge type ", edges.encoded, " has no table '", name, "'");
  if (found->second.dtype != kDTypeOf<T> || found->second.shape.size() != 1)
    throw_invalid("table '", name, "' of edge type ", edges.encoded, " is not one ",
                  ramet::name(kDTypeOf<T>), " a row");
  return found->second.as<T>().data();
}

}  // namespace

WalkRows::WalkRows(const WalkEdges& walked)
    : edges_(&walked.graph->edge_types()[static_cast<size_t>(walked.edge_type)]),
      num_ends_(walked.graph->node_types()[static_cast<size_t>(edges_->src)].num_nodes),
      indptr_(edges_->indptr.as<int64_t>().data()),
      ends_(edges_->indices.data),
      narrow_ends_(edges_->indices.dtype == DType::kInt32),
      sums_(table<double>(*edges_, walked.weight_sums)),
      times_(table<int64_t>(*edges_, walked.times)) {}

int64_t WalkRows::end_of(int64_t position) const {
  const int64_t end = entry(position);
  if (static_cast<uint64_t>(end) >= static_cast<uint64_t>(num_ends_))
    throw_bad_entry(edges_->indices_location, position, end,
                    concat("is outside [0, ", num_ends_, ")"));
  return end;
}

int64_t WalkRows::id_of(int64_t position) const {
  if (!edges_->has_edge_ids()) return position;
  return with_ids(edges_->edge_ids,
                  [&](auto ids) { return int64_t{ids[static_cast<size_t>(position)]}; });
}

void WalkRows::prefetch_edge(int64_t position, bool with_id) const {
  const int64_t size = narrow_ends_ ? 4 : 8;
  prefetch(static_cast<const char*>(ends_) + position * size);
  if (with_id && edges_->has_edge_ids())
    prefetch(static_cast<const char*>(edges_->edge_ids.data) +
             position * item_size(edges_->edge_ids.dtype));
}

}  // namespace ramet
