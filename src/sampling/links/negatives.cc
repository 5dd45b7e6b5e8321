// Exact negatives by rejection: a candidate is drawn, and drawn again while it makes an edge. Draws
// of many pairs go side by side: each round draws candidates, then reads the bounds of their rows,
// then searches them, and asks in each half for the memory of the next. What is rejected goes into
// the next round. A draw that was always rejected enumerates what remains, so that the distribution
// is exact for a node with a single negative, too.
#include "ramet/negatives.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "base/parallel.h"
#include "check_negatives.h"
#include "pair_rows.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/random.h"
#include "sampling/weights.h"

namespace ramet {
namespace {

constexpr int64_t kGroup = 256;      // pairs that are drawn for side by side
constexpr int64_t kLookedUp = 1024;  // pairs that a thread looks up at a time

void check(const Pairs& pairs) {
  const size_t count = pairs.sources.size();
  if (pairs.destinations.size() != count || pairs.ids.size() != count ||
      (!pairs.times.empty() && pairs.times.size() != count))
    throw_invalid("pairs have ", count, " sources, ", pairs.destinations.size(), " destinations, ",
                  pairs.ids.size(), " ids and ", pairs.times.size(), " times");
}

void check_nodes(const Pairs& pairs, int64_t num_sources, int64_t num_destinations) {
  for (const int64_t source : pairs.sources)
    require_index(source, num_sources, "a source");
  for (const int64_t destination : pairs.destinations)
    require_index(destination, num_destinations, "a destination");
}

void check(const Candidates& candidates, const char* what) {
  const auto& [num_nodes, sums, created, among, past] = candidates;
  if (sums.data != nullptr && (sums.dtype != DType::kFloat64 || sums.rows() != num_nodes))
    throw_invalid("weight sums of ", what, " are ", sums.describe(), ", not float64 [", num_nodes,
                  "]");
  if (sums.data != nullptr && num_nodes > 0 && !(sums.as<double>().back() > 0))
    throw_invalid("weights of ", what, " are all 0");
  if (created.data != nullptr && (created.dtype != DType::kInt64 || created.rows() != num_nodes))
    throw_invalid("times of ", what, " are ", created.describe(), ", not int64 [", num_nodes, "]");
  if (past && (sums.data != nullptr || among.data != nullptr || past->times.empty()))
    throw_invalid("past ", what, " are those of edges with times, all alike");
  if (among.data == nullptr) return;
  if (sums.data != nullptr) throw_invalid("weights of ", what, " are of all nodes, not of some");
  if (among.rows() == 0) throw_invalid("there are no ", what, " to choose from");
  for (const int64_t node : among.as<int64_t>())
    require_index(node, num_nodes, "a candidate");
}

// The edges of NegativeOptions.
struct Indices {
  std::vector<PairIndex> edges;
  std::optional<PairIndex> past_destinations, past_sources;
};

PairIndex index_of(const PairRows& rows, const NegativeOptions& options) {
  PairIndex index(rows);
  const int64_t expected =
      index.by_source() ? options.sources.num_nodes : options.destinations.num_nodes;
  if (index.num_rows() != expected)
    throw_invalid("edges have ", index.num_rows(), " rows, expected ", expected);
  return index;
}

Indices indices_of(const NegativeOptions& options) {
  Indices indices;
  for (const PairRows& rows : options.edges)
    indices.edges.push_back(index_of(rows, options));
  if (const auto& to = options.destinations.past)
    indices.past_destinations = index_of(*to, options);
  if (const auto& from = options.sources.past) indices.past_sources = index_of(*from, options);
  return indices;
}

// The negatives of some pairs. One thread.
class NegativeGroup {
 public:
  NegativeGroup(const Pairs& pairs, const NegativeOptions& options, const Indices& indices)
      : pairs_(pairs),
        options_(options),
        indices_(indices),
        edges_(indices.edges),
        key_(absorb(absorb(static_cast<uint64_t>(Domain::kNegative), options.seed),
                    options.epoch)) {}

  void run(int64_t begin, int64_t end, int64_t* out) {
    const int64_t step = draws_each(options_.corrupt);
    for (int64_t first = 0; first < step; ++first) {
      for (int64_t pair = begin; pair < end; ++pair)
        for (int64_t i = first; i < options_.amount; i += step)
          begin_draw(pair, i, out);
      finish_draws(out);
    }
  }

 private:
  struct Draw {
    int64_t pair, number;
    uint64_t key;
    int64_t source, destination;  // one of them is the candidate
    bool at_source;
    bool exact;         // whether it is rejected if it makes an edge or a loop
    Row past = {0, 0};  // whose entries are the candidates; without any, all nodes are
    Row row = {0, 0};   // of the first edges
  };

  // out: of the draws before it. Without a source there is no destination either.
  void begin_draw(int64_t pair, int64_t number, int64_t* out) {
    const auto at = static_cast<size_t>(pair);
    const bool is_pair = options_.corrupt == Corrupt::kPair;
    const bool at_source = replaces_source(options_.corrupt, number);
    const bool has_source = is_pair && !at_source;
    int64_t* const negative = out + pair * options_.amount + number;
    const int64_t source = has_source ? negative[-1] : pairs_.sources[at];
    if (source == kNoNegative) {
      *negative = kNoNegative;
      return;
    }
    const uint64_t key =
        absorb(absorb(key_, static_cast<uint64_t>(pairs_.ids[at])), static_cast<uint64_t>(number));
    Draw draw{.pair = pair,
              .number = number,
              .key = key,
              .source = source,
              .destination = pairs_.destinations[at],
              .at_source = at_source,
              .exact = !is_pair || has_source};
    if (const auto& past = past_of(draw))
      draw.past = row_before(*past, past->row(draw.source, draw.destination), time_of(draw));
    draws_.push_back(draw);
  }

  void finish_draws(int64_t* out) {
    while (!draws_.empty()) {
      for (uint64_t tries = 0; tries < kNegativeTries && !draws_.empty(); ++tries)
        try_once(tries, out);
      std::erase_if(draws_, [&](Draw& draw) {
        const std::optional<int64_t> found = enumerate(draw);
        if (found) out[draw.pair * options_.amount + draw.number] = *found;
        draw.past = {0, 0};  // where there is none in it, all nodes are candidates
        return found.has_value();
      });
    }
  }

  // Draws a candidate each, and keeps the draws that are rejected.
  void try_once(uint64_t tries, int64_t* out) {
    for (Draw& draw : draws_) {
      choose(draw, drawn(draw, absorb(draw.key, tries)));
      if (!edges_.empty()) edges_[0].request_row(draw.source, draw.destination);
    }
    if (!edges_.empty())
      for (Draw& draw : draws_)
        draw.row = edges_[0].row(draw.source, draw.destination);
    std::erase_if(draws_, [&](Draw& draw) {
      const bool taken = !is_rejected(draw);
      if (taken) out[draw.pair * options_.amount + draw.number] = candidate(draw);
      return taken;
    });
  }

  static int64_t& candidate(Draw& draw) { return draw.at_source ? draw.source : draw.destination; }
  const Candidates& candidates(const Draw& draw) const {
    return draw.at_source ? options_.sources : options_.destinations;
  }
  int64_t time_of(const Draw& draw) const {
    return pairs_.times.empty() ? std::numeric_limits<int64_t>::max()
                                : pairs_.times[static_cast<size_t>(draw.pair)];
  }

  const std::optional<PairIndex>& past_of(const Draw& draw) const {
    return draw.at_source ? indices_.past_sources : indices_.past_destinations;
  }
  static bool is_of_past(const Draw& draw) { return draw.past.degree > 0; }

  int64_t num_candidates(const Draw& draw) const {
    const Candidates& all = candidates(draw);
    if (is_of_past(draw)) return draw.past.degree;
    return all.among.data == nullptr ? all.num_nodes : all.among.rows();
  }
  void choose(Draw& draw, int64_t number) const {
    const Candidates& all = candidates(draw);
    if (is_of_past(draw))
      candidate(draw) = past_of(draw)->node_at(draw.past, number, all.num_nodes);
    else if (all.among.data != nullptr)
      candidate(draw) = all.among.as<int64_t>()[static_cast<size_t>(number)];
    else
      candidate(draw) = number;
  }

  // The number of a candidate.
  int64_t drawn(const Draw& draw, uint64_t word) const {
    const Array& weight_sums = candidates(draw).weight_sums;
    if (weight_sums.data == nullptr)
      return static_cast<int64_t>(uniform_below(word, static_cast<uint64_t>(num_candidates(draw))));
    return candidate_by_sums(weight_sums.as<double>().data(), weight_sums.rows(), word);
  }

  bool is_rejected(Draw& draw) const {
    const int64_t time = time_of(draw);
    const Array& created = candidates(draw).created;
    if (created.data != nullptr &&
        created.as<int64_t>()[static_cast<size_t>(candidate(draw))] > time)
      return true;
    if (!draw.exact) return false;
    if (!options_.loops && draw.source == draw.destination) return true;
    const When when = is_of_past(draw) ? When::kThen : When::kByThen;
    for (size_t i = 0; i < edges_.size(); ++i) {
      const Row row = i == 0 ? draw.row : edges_[i].row(draw.source, draw.destination);
      if (edges_[i].has(row, draw.source, draw.destination, time, when)) return true;
    }
    return false;
  }

  // Nothing: no node of the past is left.
  std::optional<int64_t> enumerate(Draw& draw) const {
    const Array& weight_sums = candidates(draw).weight_sums;
    const auto sums =
        weight_sums.data == nullptr ? std::span<const double>() : weight_sums.as<double>();
    std::vector<int64_t> left;
    std::vector<double> left_sums;
    double sum = 0;
    const int64_t count = num_candidates(draw);
    for (int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<size_t>(i);
      const double weight = sums.empty() ? 1 : sums[at] - (at == 0 ? 0 : sums[at - 1]);
      if (!(weight > 0)) continue;
      choose(draw, i);
      if (!edges_.empty()) draw.row = edges_[0].row(draw.source, draw.destination);
      if (is_rejected(draw)) continue;
      left.push_back(candidate(draw));
      left_sums.push_back(sum += weight);
    }
    if (left.empty() && is_of_past(draw)) return std::nullopt;
    if (left.empty() && options_.when_none == WhenNone::kDrop) return kNoNegative;
    if (left.empty() && draw.exact && options_.when_none == WhenNone::kEdge) {
      draw.exact = false;
      return enumerate(draw);
    }
    if (left.empty()) throw_none(draw);
    const uint64_t word = absorb(draw.key, kNegativeTries);
    if (sums.empty()) return left[uniform_below(word, left.size())];
    const auto found =
        std::upper_bound(left_sums.begin(), left_sums.end(), fraction_of(word) * sum);
    return found == left_sums.end() ? left.back()
                                    : left[static_cast<size_t>(found - left_sums.begin())];
  }

  [[noreturn]] void throw_none(const Draw& draw) const {
    const auto at = static_cast<size_t>(draw.pair);
    if (!draw.exact)
      throw_error(ErrorCode::kNotFound, "no ", draw.at_source ? "source" : "destination", " of ",
                  candidates(draw).num_nodes, " exists at the time ", time_of(draw), " of pair ",
                  pairs_.ids[at], ": there is no negative for it");
    const int64_t kept = draw.at_source ? pairs_.destinations[at] : pairs_.sources[at];
    throw_error(ErrorCode::kNotFound, draw.at_source ? "destination " : "source ", kept,
                " has an edge with each of the ", candidates(draw).num_nodes,
                " candidates: there is no exact negative for pair ", pairs_.ids[at]);
  }

  const Pairs& pairs_;
  const NegativeOptions& options_;
  const Indices& indices_;
  std::span<const PairIndex> edges_;
  uint64_t key_;
  std::vector<Draw> draws_;  // that are not done
};

}  // namespace

Corrupt parse_corrupt(const std::string& name) {
  if (name == "destination") return Corrupt::kDestination;
  if (name == "source") return Corrupt::kSource;
  if (name == "both") return Corrupt::kBoth;
  if (name == "pair") return Corrupt::kPair;
  throw_invalid("corrupt is '", name, "', expected 'destination', 'source', 'both' or 'pair'");
}

WhenNone parse_when_none(const std::string& name) {
  if (name == "error") return WhenNone::kError;
  if (name == "edge") return WhenNone::kEdge;
  if (name == "drop") return WhenNone::kDrop;
  throw_invalid("missing is '", name, "', expected 'error', 'edge' or 'drop'");
}

void check_negatives(const Pairs& pairs, const NegativeOptions& options) {
  check(pairs);
  check(options.destinations, "destinations");
  check(options.sources, "sources");
  if (options.amount < 1) throw_invalid("amount is ", options.amount, ", not 1 or more");
  if (options.amount % draws_each(options.corrupt) != 0)
    throw_invalid("amount is ", options.amount, ", not two draws for each negative");
  const auto& to = options.destinations.past;
  const auto& from = options.sources.past;
  if ((to && !to->by_source) || (from && from->by_source))
    throw_invalid("past candidates are in rows of the ends that are kept");
  const bool lacks_times = pairs.times.empty() && !pairs.sources.empty();
  if ((to || from) && (lacks_times || options.corrupt == Corrupt::kPair))
    throw_invalid("past candidates are for pairs with times, of which one end is kept");
}

Array draw_negatives(const Pairs& pairs, const NegativeOptions& options) {
  check_negatives(pairs, options);
  check_nodes(pairs, options.sources.num_nodes, options.destinations.num_nodes);
  const Indices indices = indices_of(options);
  const int64_t count = std::ssize(pairs.sources);
  Array negatives = BufferPool::shared()->allocate_array(DType::kInt64, {count, options.amount});
  auto* out = static_cast<int64_t*>(negatives.data);
  parallel_for(count, kGroup, options.threads, [&](int64_t begin, int64_t end) {
    NegativeGroup(pairs, options, indices).run(begin, end, out);
  });
  return negatives;
}

Array are_edges(const Pairs& pairs, std::span<const PairRows> edges, int threads) {
  check(pairs);
  const int64_t count = std::ssize(pairs.sources);
  Array found = BufferPool::shared()->allocate_array(DType::kBool, {count});
  auto* out = static_cast<bool*>(found.data);
  std::fill_n(out, count, false);
  for (const PairRows& of_type : edges) {
    const PairIndex index(of_type);
    for (const int64_t node : index.by_source() ? pairs.sources : pairs.destinations)
      require_index(node, index.num_rows(), index.by_source() ? "a source" : "a destination");
    parallel_for(count, kLookedUp, threads, [&](int64_t begin, int64_t end) {
      const auto some = [&](std::span<const int64_t> of_all) {
        const auto first = static_cast<size_t>(begin), size = static_cast<size_t>(end - begin);
        return of_all.empty() ? of_all : of_all.subspan(first, size);
      };
      index.for_each_edge(some(pairs.sources), some(pairs.destinations), some(pairs.times),
                          [&](size_t i) { out[begin + static_cast<int64_t>(i)] = true; });
    });
  }
  return found;
}

}  // namespace ramet
