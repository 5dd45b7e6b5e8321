// What a rank owns among ranks that cooperate: names and indexes of nodes, and seeds.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exchange/asked_nodes.h"
#include "ramet/error.h"
#include "ramet/ownership.h"
#include "sampling/hop_sampler.h"
#include "sampling/trees.h"

namespace ramet {

// By node type. `keys`: empty unless trees are disjoint.
inline std::vector<AskedNodes> names_of(const Membership& membership,
                                        const std::vector<TreeKeys>& keys) {
  std::vector<AskedNodes> names;
  for (const Ownership& owners : membership.owners)
    names.push_back({owners.span_of(membership.rank)});
  for (size_t t = 0; t < keys.size(); ++t)
    names[t].id_bits = keys[t].id_bits();
  return names;
}

// Indexes of nodes, or of their keys.
template <typename Id>
void prepare_all(NodeIndexes<Id>& nodes, const Graph& graph, bool are_keys) {
  are_keys ? prepare_for_keys(nodes, graph) : prepare(nodes, graph);
}

// Indexes of what this rank owns.
template <typename Id>
void prepare_own(NodeIndexes<Id>& nodes, const Graph& graph, const std::vector<AskedNodes>& names) {
  std::vector<NodeRange> spans;
  bool have_trees = false;
  for (const AskedNodes& of_type : names) {
    spans.push_back(of_type.own);
    have_trees |= of_type.have_trees();
  }
  if (have_trees)
    prepare_for_keys(nodes, graph);
  else
    prepare(nodes, graph, spans);
}

// kInvalidArgument for a seed of another rank.
inline void check_owned(const Membership& membership, const HopDriver& driver) {
  for (size_t t = 0; t < membership.owners.size(); ++t) {
    const auto seeds = driver.seeds(t);
    const auto owners = membership.owners[t].owners(seeds);
    for (size_t i = 0; i < owners.size(); ++i) {
      if (owners[i] == membership.rank) continue;
      throw_invalid("seeds[", i, "] = ", seeds[i], " belongs to rank ", owners[i], ", not to ",
                    membership.rank);
    }
  }
}

}  // namespace ramet
