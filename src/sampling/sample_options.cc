#include "ramet/sample_options.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "edge_times.h"
#include "methods.h"
#include "ramet/error.h"
#include "ramet/store.h"

namespace ramet {
namespace {

constexpr size_t kMaxHops = 256;  // far more than models have layers; each costs memory by itself

// What fanouts are of, and how small they may be.
struct FanoutRule {
  std::string kind;  // "edge type"
  std::vector<std::string> names;
  int64_t least;
  const char* expected;
};

FanoutRule fanout_rule(const SampleOptions& options, const Graph& graph) {
  if (has_budgets_of_types(options)) {
    FanoutRule rule{"node type", {}, 0, "0 or more nodes"};
    for (const NodeType& type : graph.node_types())
      rule.names.push_back(type.name);
    return rule;
  }
  FanoutRule rule{"edge type", {}, kAllNeighbors, "-1 (all), 0 (none) or more"};
  for (const EdgeType& type : graph.edge_types())
    rule.names.push_back(type.encoded);
  return rule;
}

void check_fanouts(const std::vector<std::vector<int64_t>>& all_fanouts, const FanoutRule& rule) {
  const auto& [kind, names, least, expected] = rule;
  if (all_fanouts.size() != names.size()) {
    throw_invalid("fanouts name ", all_fanouts.size(), " ", kind, "s, but the graph has ",
                  names.size());
  }
  const size_t num_hops = all_fanouts.empty() ? 0 : all_fanouts.front().size();
  if (num_hops > kMaxHops) {
    throw_invalid("num_neighbors has ", num_hops, " hops, expected at most ", kMaxHops);
  }
  for (size_t t = 0; t < names.size(); ++t) {
    const auto& fanouts = all_fanouts[t];
    if (fanouts.size() != num_hops) {
      throw_invalid("num_neighbors of ", kind, " '", names[t], "' has ", fanouts.size(),
                    " hops, but that of '", names[0], "' has ", num_hops);
    }
    for (size_t hop = 0; hop < num_hops; ++hop) {
      if (fanouts[hop] >= least) continue;
      throw_invalid("num_neighbors[", hop, "] of ", kind, " '", names[t], "' is ", fanouts[hop],
                    ", expected ", expected);
    }
  }
}

// Calls body with a default value of every alternative, in order.
template <typename Body, size_t... kIndex>
void for_each_method(Body&& body, std::index_sequence<kIndex...> /*all*/) {
  (body(std::variant_alternative_t<kIndex, Method>()), ...);
}

uint64_t absorb_field(uint64_t key, bool value) {
  return absorb(key, value ? 1U : 0U);
}
uint64_t absorb_field(uint64_t key, int64_t value) {
  return absorb(key, static_cast<uint64_t>(value));
}
uint64_t absorb_field(uint64_t key, const std::string& value) {
  return absorb(key, hash_name(value));
}
uint64_t absorb_field(uint64_t key, std::optional<int64_t> value) {
  key = absorb_field(key, value.has_value());
  return value ? absorb_field(key, *value) : key;
}
template <typename Enum>
  requires std::is_enum_v<Enum>
uint64_t absorb_field(uint64_t key, Enum value) {
  return absorb(key, static_cast<uint64_t>(value));
}

template <typename Options>
uint64_t absorb_fields(uint64_t key, Options options) {
  for_each_field(options, [&](const char*, auto& field) { key = absorb_field(key, field); });
  return key;
}

// What most samplers leave as it is, and what then changes no digest.
uint64_t absorb_extent(uint64_t key,
                       Expand expand,
                       bool disjoint,
                       const std::optional<Time>& time) {
  if (expand == Expand::kEvery && !disjoint && !time) return key;
  key = absorb_field(absorb_field(absorb_field(key, expand), disjoint), time.has_value());
  return time ? absorb_fields(key, *time) : key;
}

// The position of `name` among `names`.
template <typename Enum, size_t kCount>
Enum parse(const char* option, const std::string& name, const char* const (&names)[kCount]) {
  const auto* const found = std::find(std::begin(names), std::end(names), name);
  if (found != std::end(names)) return static_cast<Enum>(found - std::begin(names));
  std::string expected;
  for (const char* one : names)
    expected.append(expected.empty() ? "'" : " or '").append(one).append("'");
  throw_invalid(option, " is '", name, "', expected ", expected);
}

void check_trees(const SampleOptions& options) {
  if (options.time && !options.disjoint)
    throw_invalid("time needs disjoint: seeds of several times share no nodes");
}

void check_budget(const SampleOptions& options) {
  const auto* budget = std::get_if<Budget>(&options.method);
  if (budget == nullptr) return;
  if (budget->nodes_per_tree && *budget->nodes_per_tree < 1)
    throw_invalid("nodes_per_tree of Budget is ", *budget->nodes_per_tree, ", expected 1 or more");
  if (options.expand != Expand::kOnce)
    throw_invalid("Budget needs expand = 'once': its batch is one graph");
  if (budget->nodes_per_tree && !options.disjoint)
    throw_invalid("Budget with nodes_per_tree needs disjoint: each seed has a tree of its own");
  if (!budget->nodes_per_tree && options.disjoint)
    throw_invalid(
        "Budget without nodes_per_tree shares its nodes among all seeds, which disjoint and time "
        "forbid: give nodes_per_tree");
}

}  // namespace

Method method_named(const std::string& name) {
  std::optional<Method> found;
  std::string names;
  for_each_method(
      [&](auto method) {
        if (name == method.kName) found = method;
        names.append(names.empty() ? "'" : ", '").append(method.kName).append("'");
      },
      std::make_index_sequence<std::variant_size_v<Method>>());
  if (!found) throw_invalid("sampler is '", name, "', expected one of ", names);
  return *found;
}

std::string weight_table(const Method& method) {
  return std::visit(
      [](const auto& chosen) -> std::string {
        if constexpr (requires { chosen.table; })
          return chosen.table;
        else
          return "";
      },
      method);
}

Weights parse_weights(const std::string& name) {
  return parse<Weights>("weights", name, {"normalized", "horvitz-thompson"});
}

Expand parse_expand(const std::string& name) {
  return parse<Expand>("expand", name, {"every", "once"});
}

Strategy parse_strategy(const std::string& name) {
  return parse<Strategy>("strategy", name, {"uniform", "last"});
}

Comparison parse_comparison(const std::string& name) {
  return parse<Comparison>("comparison", name, {"<=", "<", ">=", ">"});
}

bool has_budgets_of_types(const SampleOptions& options) {
  const auto* budget = std::get_if<Budget>(&options.method);
  return budget != nullptr && !budget->nodes_per_tree;
}

void check(const SampleOptions& options, const Graph& graph) {
  if (options.dependent < 1) {
    throw_invalid("dependent is ", options.dependent, ", expected at least 1");
  }
  check_fanouts(options.fanouts, fanout_rule(options, graph));
  check_method(options, graph);
  check_budget(options);
  check_trees(options);
  check_time(options, graph);
}

uint64_t digest(const SampleOptions& options) {
  const auto& [fanouts, method, seed, dependent, expand, disjoint, time] = options;
  uint64_t key = absorb(0, fanouts.size());
  for (const auto& of_type : fanouts) {
    key = absorb(key, of_type.size());
    for (const int64_t fanout : of_type)
      key = absorb_field(key, fanout);
  }
  key = absorb(key, method.index());
  std::visit([&](const auto& chosen) { key = absorb_fields(key, chosen); }, method);
  return absorb_extent(absorb_field(absorb(key, seed), dependent), expand, disjoint, time);
}

}  // namespace ramet
