#include "walk_rows.h"

#include <algorithm>
#include <string>

#include "ramet/error.h"
#include "sampling/weights.h"

namespace ramet {
namespace {

constexpr uint64_t kTries = 64;  // of node2vec's rejection

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

Row WalkRows::in_time(Row row, int64_t now, bool decreasing) const {
  const int64_t* begin = times_ + row.begin;
  const int64_t* end = begin + row.degree;
  if (decreasing) return {row.begin, std::upper_bound(begin, end, now) - begin};
  const int64_t* first = std::lower_bound(begin, end, now);
  return {row.begin + (first - begin), end - first};
}

int64_t WalkRows::draw_by_sums(Row row, int64_t row_begin, uint64_t word) const {
  const double before = sum_before(row.begin, row_begin);
  const double* begin = sums_ + row.begin;
  const double* end = begin + row.degree;
  if (!(end[-1] > before)) return -1;
  // The first sum above the point. An edge that weighs nothing has the sum before it, so it is
  // none.
  const double point = before + fraction_of(word) * (end[-1] - before);
  const double* found = std::upper_bound(begin, end, point);
  if (found == end) found = std::lower_bound(begin, end, end[-1]);  // rounded up to the last sum
  return row.begin + (found - begin);
}

int64_t WalkRows::draw_biased(Row row,
                              int64_t row_begin,
                              const Node2Vec& bias,
                              int64_t previous,
                              uint64_t key,
                              uint64_t t) const {
  if (previous < 0) return draw(row, row_begin, key, t);
  const double highest = std::max({1 / bias.p, 1.0, 1 / bias.q});
  const double lowest = std::min({1 / bias.p, 1.0, 1 / bias.q});
  for (uint64_t tries = 0; tries < kTries; ++tries, t += 2) {
    const int64_t position = draw(row, row_begin, key, t);
    if (position < 0) return position;
    const double needed = fraction_of(absorb(key, t + 1)) * highest;
    if (needed < lowest || needed < bias_of(position, bias, previous)) return position;
  }
  return draw_by_biased_sums(row, row_begin, bias, previous, absorb(key, t));
}

int64_t WalkRows::draw_by_biased_sums(
    Row row, int64_t row_begin, const Node2Vec& bias, int64_t previous, uint64_t word) const {
  const auto biased = [&](int64_t position) {
    const double plain = weight(position, row_begin);
    return plain == 0 ? 0 : plain * bias_of(position, bias, previous);
  };
  const int64_t end = row.begin + row.degree;
  double total = 0;
  for (int64_t position = row.begin; position < end; ++position)
    total += biased(position);
  const double point = fraction_of(word) * total;
  int64_t last = -1;  // that weighs something
  double sum = 0;
  for (int64_t position = row.begin; position < end && !(last >= 0 && sum > point); ++position) {
    const double more = biased(position);
    if (more == 0) continue;
    sum += more;
    last = position;
  }
  return last;
}

double WalkRows::bias_of(int64_t position, const Node2Vec& bias, int64_t previous) const {
  const int64_t end = end_of(position);
  if (end == previous) return 1 / bias.p;
  return leads_to(previous, end) ? 1.0 : 1 / bias.q;
}

bool WalkRows::leads_to(int64_t node, int64_t end) const {
  const Row of_node = row(node);
  return with_ids(edges_->indices, [&](auto ids) {
    const auto found =
        ids.subspan(static_cast<size_t>(of_node.begin), static_cast<size_t>(of_node.degree));
    using Id = typename decltype(ids)::value_type;
    return std::binary_search(found.begin(), found.end(), static_cast<Id>(end));
  });
}

int64_t WalkRows::end_of(int64_t position) const {
  const int64_t end = narrow_ends_ ? static_cast<const int32_t*>(ends_)[position]
                                   : static_cast<const int64_t*>(ends_)[position];
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
