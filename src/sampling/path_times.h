// PathTimes: what the edges that led to a node leave to those that lead on, with Time::monotonic;
// docs/semantics.md, section 16.
//
// Several edges may lead to a node of a tree. All of them hold its own edges back: whichever way a
// message takes, the times along its way are in order.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "relation_builder.h"

namespace ramet {

template <typename Id>
class PathTimes {
 public:
  void start_batch(size_t num_node_types) {
    of_nodes_.resize(num_node_types);
    for (auto& of_type : of_nodes_)
      of_type.clear();
  }

  // The nodes from `before` on go to these positions in their list; those with -1 are gone.
  void move(size_t node_type, int64_t before, std::span<const int32_t> positions) {
    auto& of_type = of_nodes_[node_type];
    const auto first = static_cast<size_t>(before);
    of_type.resize(std::max(of_type.size(), first + positions.size()));
    size_t size = first;
    for (size_t i = 0; i < positions.size(); ++i) {
      if (positions[i] >= 0) of_type[size++] = of_type[first + i];
    }
    of_type.resize(size);
  }

  // What the nodes from `begin` to `end` have, which then is forgotten.
  [[nodiscard]] std::vector<TimeSpan> take(size_t node_type, int64_t begin, int64_t end) {
    auto& of_type = of_nodes_[node_type];
    of_type.resize(static_cast<size_t>(end));
    const std::vector<TimeSpan> taken(of_type.begin() + begin, of_type.end());
    of_type.resize(static_cast<size_t>(begin));
    return taken;
  }
  // Another path to the node at `position`.
  void add(size_t node_type, int32_t position, const TimeSpan& path) {
    auto& of_type = of_nodes_[node_type];
    const auto at = static_cast<size_t>(position);
    of_type.resize(std::max(of_type.size(), at + 1));
    of_type[at] = of_type[at].common(path);
  }

  // What the first `count` nodes of a type have, as it is or to be replaced.
  [[nodiscard]] std::vector<TimeSpan>& of(size_t node_type, int64_t count) {
    of_nodes_[node_type].resize(static_cast<size_t>(count));
    return of_nodes_[node_type];
  }

  // Takes from `allowed`, of the nodes of a type at `destinations`, what their paths do not allow.
  void narrow(size_t node_type, const ListRange& destinations, std::span<TimeSpan> allowed) {
    auto& of_type = of_nodes_[node_type];
    of_type.resize(std::max(of_type.size(), static_cast<size_t>(destinations.end)));
    const auto paths = destinations.of(std::span<const TimeSpan>(of_type));
    for (size_t i = 0; i < allowed.size(); ++i)
      allowed[i] = allowed[i].common(paths[i]);
  }

  // The edges of a hop, for the hops after it. An edge without a time passes on what its
  // destination allows.
  void add(const RelationTask<Id>& task, const Relation& relation) {
    Time rule = task.times == nullptr ? Time() : task.times->rule;
    rule.window = -1;  // it is about the seed's time alone
    auto& of_sources = of_nodes_[static_cast<size_t>(task.edges.src)];
    of_sources.resize(std::max(of_sources.size(), task.sources.ids().size()));
    const auto indptr = relation.indptr.as<int64_t>();
    const auto source = relation.indices.as<int32_t>();
    with_ids(relation.position, [&](auto position) {
      for (size_t i = 0; i < task.allowed.size(); ++i) {
        for (auto e = static_cast<size_t>(indptr[i]); e < static_cast<size_t>(indptr[i + 1]); ++e) {
          TimeSpan& path = of_sources[static_cast<size_t>(source[e])];
          path = path.common(task.times == nullptr
                                 ? task.allowed[i]
                                 : allowed_times(rule, time_of(task, position[e], source[e])));
        }
      }
    });
  }

 private:
  static int64_t time_of(const RelationTask<Id>& task, int64_t position, int32_t source) {
    if (task.times->of_edges != nullptr) return task.times->of_edges[position];
    const Id key = task.sources.ids()[static_cast<size_t>(source)];
    return task.times->of_sources[task.source_keys->id(key)];
  }

  std::vector<std::vector<TimeSpan>> of_nodes_;  // by node type, and position in its list
};

}  // namespace ramet
