// Messages that are no messages: an error that names the rank, and a sampler that begins anew.
#include <doctest/doctest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ramet/sampler.h"
#include "support/cooperative_fixture.h"
#include "support/damage.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kNodes = 200;
constexpr size_t kRanks = 3;
constexpr size_t kGuilty = 1;  // the rank whose bytes are wrong

std::shared_ptr<const Graph> graph() {
  static const auto made = [] {
    StoreContents contents =
        one_type(csc_of(random_edges(kNodes, kNodes, 3000, 21), kNodes, kNodes), kNodes);
    const std::vector<int64_t> times = drawn_ids(kNodes, 100, 5);
    contents.arrays.emplace_back("node/node/time", borrow(times));
    return graph_of(contents);
  }();
  return made;
}

SampleOptions labor_1() {
  return {{{4, 3}}, Labor{.iterations = 2}, 1};
}

SampleOptions uniform() {
  return {.fanouts = {{4, 3}}, .seed = 1};
}

SampleOptions trees() {
  const Time time{.table = "time", .monotonic = true};
  return {.fanouts = {{4, 3}}, .seed = 1, .disjoint = true, .time = time};
}

SampleOptions budgets() {
  return {.fanouts = {{9, 8}}, .method = Budget{}, .seed = 1, .expand = Expand::kOnce};
}

SampleOptions short_trees() {
  SampleOptions options = trees();
  options.method = Budget{6};
  options.expand = Expand::kOnce;
  return options;
}

std::vector<int64_t> seeds() {
  std::vector<int64_t> all;
  for (int64_t v = 0; v < kNodes; v += 3)
    all.push_back(v);
  return all;
}

// A message as a list of what each rank said.
std::vector<std::string> split(const Message& message) {
  std::vector<std::string> parts;
  const char* at = static_cast<const char*>(message.data.data);
  for (const int64_t bytes : message.bytes) {
    parts.emplace_back(at, static_cast<size_t>(bytes));
    at += bytes;
  }
  return parts;
}

Message join(const std::vector<std::string>& parts) {
  Message message;
  std::string all;
  for (const std::string& part : parts) {
    message.bytes.push_back(static_cast<int64_t>(part.size()));
    all += part;
  }
  message.data = bytes_from(all);
  return message;
}

template <typename T>
std::string set(std::string bytes, size_t offset, T value) {
  REQUIRE(offset + sizeof(T) <= bytes.size());
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
  return bytes;
}

template <typename T>
T get(const std::string& bytes, size_t offset) {
  T value;
  REQUIRE(offset + sizeof(T) <= bytes.size());
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

using Change = std::function<std::string(const std::string&)>;

// What rank 0 says to messages of which, in exchange `when`, that of the guilty rank is changed.
void expect_refusal(const SampleOptions& options,
                    int when,
                    const Change& change,
                    const std::string& words) {
  CAPTURE(when);
  Ranks ranks(graph(), options, by_hash(*graph(), kRanks));
  Messages sent = ranks.start(0, seeds());
  for (int exchange = 0; exchange < when; ++exchange)
    sent = ranks.receive(deliver(sent)).value();
  auto parts = split(deliver(sent)[0]);
  parts[kGuilty] = change(parts[kGuilty]);
  check_throws(ErrorCode::kCorrupt, {words, "rank 1"},
               [&] { return ranks[0].receive(join(parts)); });
  CHECK_THROWS_WITH_AS(ranks[0].receive(join(parts)), doctest::Contains("call start() first"),
                       Error);
  const auto again = ranks.sample(0, seeds(), 4, 5);
  const Minibatch alone = NeighborSampler(graph(), options).sample({0, seeds()}, 4, 5);
  CHECK(edges_of(*graph(), again) == edges_of(*graph(), {alone}));
}

// Exchanges of a hop of LABOR-2.
enum Exchange : int { kCandidates, kRaise, kSettle, kRaiseAgain, kSettleAgain, kSources };
// Of budgets of types, and of a hop of trees.
enum OfBudgets : int { kShares, kDrawn, kSharesAgain, kDrawnAgain, kAsked };
enum OfTrees : int { kTrees, kFoundSources, kNewNodes };

}  // namespace

TEST_CASE("bytes that are cut, added or miscounted are refused, in every exchange") {
  const Change cut = [](const std::string& bytes) { return bytes.substr(0, bytes.size() - 8); };
  const Change cut_a_little = [](const std::string& b) { return b.substr(0, b.size() - 3); };
  const Change nothing = [](const std::string&) { return std::string(); };
  const Change add = [](const std::string& bytes) { return bytes + std::string(8, '\0'); };
  const auto count = [](auto value) {
    return [value](const std::string& bytes) { return set<int64_t>(bytes, 0, value(bytes)); };
  };
  using Limits = std::numeric_limits<int64_t>;
  for (int when = kCandidates; when <= kSources; ++when) {
    for (const Change& change : {cut, cut_a_little, nothing, add}) {
      expect_refusal(labor_1(), when, change, "bytes that are no message");
    }
    for (const int64_t wrong : {Limits::min(), int64_t{-1}, Limits::max(), Limits::max() / 8})
      expect_refusal(labor_1(), when, count([&](const auto&) { return wrong; }), "no message");
    const auto more = [](const std::string& b) { return get<int64_t>(b, 0) + 2; };
    expect_refusal(labor_1(), when, count(more), "no message");
  }
}

TEST_CASE("numbers of c that were not asked for are refused") {
  for (const int when : {kRaise, kSettle, kRaiseAgain, kSettleAgain}) {
    const Change more = [](const std::string& bytes) {
      return set<int64_t>(bytes, 0, get<int64_t>(bytes, 0) + 1) + std::string(8, '\0');
    };
    expect_refusal(labor_1(), when, more, "values, expected");
    const Change fewer = [](const std::string& bytes) {
      return set<int64_t>(bytes, 0, get<int64_t>(bytes, 0) - 1).substr(0, bytes.size() - 8);
    };
    expect_refusal(labor_1(), when, fewer, "values, expected");
  }
}

TEST_CASE("ids that are no nodes are refused") {
  for (const int32_t id : {-1, static_cast<int32_t>(kNodes), std::numeric_limits<int32_t>::max(),
                           std::numeric_limits<int32_t>::min()}) {
    const Change change = [&](const std::string& bytes) { return set(bytes, 8, id); };
    expect_refusal(labor_1(), kCandidates, change, "node " + std::to_string(id));
    expect_refusal(labor_1(), kSources, change, "node " + std::to_string(id));
    expect_refusal(uniform(), 0, change, "node " + std::to_string(id));
    expect_refusal(uniform(), 1, change, "node " + std::to_string(id));
  }
}

TEST_CASE("nodes outside the range that a rank owns are refused") {
  Ranks ranks(graph(), uniform(), by_ranges(*graph(), kRanks));
  const auto owner = by_ranges(*graph(), kRanks).front();
  for (const int32_t id : {int32_t{kNodes} - 1, -1, std::numeric_limits<int32_t>::min()}) {
    REQUIRE((id < 0 || owner.owner(id) != 0));
    auto parts = split(deliver(ranks.start(0, seeds()))[0]);
    parts[kGuilty] = set(parts[kGuilty], 8, id);
    CHECK_THROWS_WITH_AS(ranks[0].receive(join(parts)),
                         doctest::Contains(("rank 1 asked for node " + std::to_string(id)).c_str()),
                         Error);
  }
  CHECK(ranks.sample(0, seeds()).size() == kRanks);
}

TEST_CASE("where each node is sampled once, a rank that got not what it sent itself says so") {
  SampleOptions once = uniform();
  once.expand = Expand::kOnce;
  Ranks ranks(graph(), once, by_hash(*graph(), kRanks));
  const Messages sent = ranks.receive(deliver(ranks.start(0, seeds()))).value();
  auto parts = split(deliver(sent)[0]);
  parts[0] = std::string(sizeof(int64_t), '\0');  // no ids
  check_throws(ErrorCode::kCorrupt, {"rank 0 asked itself for", "and got"}, [&] {
    (void)ranks[0].receive(join(parts));
    return ranks[0].take();
  });
}

TEST_CASE("trees, and times of trees and of paths, that do not fit are refused") {
  const auto value = [](size_t at, int64_t changed) -> Change {
    return [=](const std::string& bytes) { return set(bytes, at, changed); };
  };
  const auto move_count = [](const std::string& bytes) {  // from the second list to the first
    const auto first = get<int64_t>(bytes, 0), second = get<int64_t>(bytes, 8);
    return set<int64_t>(set<int64_t>(bytes, 0, first + 1), 8, second - 1);
  };
  for (const int64_t count : {int64_t{-1}, int64_t{0}, int64_t{1000}, int64_t{1} << 62})
    expect_refusal(trees(), 0, value(16, count), "numbers of trees");
  expect_refusal(trees(), 0, move_count, "sent 2 numbers of trees");
  const Change more_times = [](const std::string& bytes) {
    return set<int64_t>(bytes, 8, get<int64_t>(bytes, 8) + 1) + std::string(8, '\0');
  };
  const Change other_tree = [](const std::string& bytes) {
    return set<int64_t>(bytes, 16, get<int64_t>(bytes, 16) + (int64_t{1} << 40));
  };
  for (const int when : {1, 2}) {
    expect_refusal(trees(), when, value(16, -1), "asked for node");
    expect_refusal(trees(), when, other_tree, " of tree ");
    expect_refusal(trees(), when, more_times, "expected two of each");
  }
}

TEST_CASE("budgets: nodes, numbers and trees that cannot be are refused") {
  // Lists of one type each: counts, then ids of int32.
  const auto first_id = [](size_t lists, int32_t id) -> Change {
    return [=](const std::string& bytes) { return set(bytes, 8 * lists, id); };
  };
  for (const int32_t id : {-1, static_cast<int32_t>(kNodes), std::numeric_limits<int32_t>::min()}) {
    const std::string node = "node " + std::to_string(id);
    for (const int when : {kShares, kSharesAgain})
      expect_refusal(budgets(), when, first_id(3, id), "asked for " + node);
    for (const int when : {kDrawn, kDrawnAgain})
      expect_refusal(budgets(), when, first_id(2, id), "sent " + node);
    expect_refusal(budgets(), kAsked, first_id(1, id), "asked for " + node);
  }
  const Change other_seed = [](const std::string& bytes) {
    return set(bytes, bytes.size() - 8, int32_t{-7});
  };
  expect_refusal(budgets(), kShares, other_seed, "sent node -7");
  const Change fewer_sums = [](const std::string& bytes) {  // to the seeds
    return set<int64_t>(set<int64_t>(bytes, 8, get<int64_t>(bytes, 8) - 2), 16,
                        get<int64_t>(bytes, 16) + 2);
  };
  expect_refusal(budgets(), kShares, fewer_sums, "expected one of each");
  const Change no_number = [](const std::string& bytes) {
    return set(bytes, bytes.size() - 8, std::numeric_limits<double>::quiet_NaN());
  };
  for (const int when : {kDrawn, kDrawnAgain})
    expect_refusal(budgets(), when, no_number, "expected a finite number");
  const Change other_tree = [](const std::string& bytes) {
    return set<int64_t>(bytes, 8, get<int64_t>(bytes, 8) + (int64_t{1} << 40));
  };
  expect_refusal(short_trees(), kNewNodes, other_tree, " of tree ");
  const Change of_another = [](const std::string& bytes) {  // a node that rank 1 does not own
    const auto owners = by_hash(*graph(), kRanks).front();
    int64_t id = 0;
    while (owners.owner(id) == kGuilty)
      ++id;
    return set<int64_t>(bytes, 8, get<int64_t>(bytes, 8) / 256 * 256 + id);  // 8 bits
  };
  expect_refusal(short_trees(), kNewNodes, of_another, "a node that it owns");
  const Change cut = [](const std::string& bytes) { return bytes.substr(0, bytes.size() - 8); };
  for (int when = kShares; when <= kAsked; ++when)
    expect_refusal(budgets(), when, cut, "bytes that are no message");
  for (int when = kTrees; when <= kNewNodes; ++when)
    expect_refusal(short_trees(), when, cut, "bytes that are no message");
}

TEST_CASE("a node that is asked for but not in the batch is refused") {
  SampleOptions few = budgets();
  few.fanouts = {{1}};
  Ranks ranks(graph(), few, by_hash(*graph(), kRanks));
  Messages sent = ranks.start(0, {0, 1, 2, 3, 4, 5});
  for (int exchange = 0; exchange < 2; ++exchange)
    sent = ranks.receive(deliver(sent)).value();
  auto parts = split(deliver(sent)[0]);
  parts[kGuilty] = std::string(16, '\0');
  parts[kGuilty] = set(set(parts[kGuilty], 0, int64_t{1}), 8, int32_t{kNodes - 1});
  check_throws(ErrorCode::kCorrupt, {"rank 1", "asked for node 199", "not in the batch"},
               [&] { return ranks[0].receive(join(parts)); });
}

TEST_CASE("a c that is no number, or smaller than this rank's own, is refused") {
  for (const double c : {std::numeric_limits<double>::quiet_NaN(), -1.0,
                         std::numeric_limits<double>::infinity(), 1e-300}) {
    const Change change = [&](const std::string& bytes) { return set(bytes, 8, c); };
    expect_refusal(labor_1(), kSettle, change, " of node ");
    expect_refusal(labor_1(), kSettleAgain, change, " of node ");
    if (c > 0 && c < 1) continue;  // others may have small ones
    expect_refusal(labor_1(), kRaise, change, " of node ");
    expect_refusal(labor_1(), kRaiseAgain, change, " of node ");
  }
}

TEST_CASE("a message of another number of ranks, or of memory that is not aligned, is refused") {
  Ranks ranks(graph(), uniform(), by_hash(*graph(), kRanks));
  const auto refuse = [&](const std::function<Message(Message)>& change) {
    const Messages arrived = deliver(ranks.start(0, seeds()));
    CHECK_THROWS_WITH_AS(ranks[0].receive(change(arrived[0])), doctest::Contains("message"), Error);
  };
  refuse([](Message message) {
    message.bytes.pop_back();
    return message;
  });
  refuse([](Message message) {
    message.bytes.push_back(0);
    return message;
  });
  refuse([](const Message&) { return Message{}; });
  refuse([](Message message) {  // more bytes than ranks say they sent
    message.data = bytes_from(std::string(static_cast<char*>(message.data.data),
                                          static_cast<size_t>(message.data.bytes())) +
                              std::string(8, '\0'));
    return message;
  });
  refuse([](Message message) {
    const Array memory =
        bytes_from(std::string(4, '\0') + std::string(static_cast<char*>(message.data.data),
                                                      static_cast<size_t>(message.data.bytes())));
    message.data.data = static_cast<char*>(memory.data) + 4;
    message.data.owner = memory.owner;
    return message;
  });
  CHECK(ranks.sample(0, seeds()).size() == kRanks);
}

TEST_CASE("chance damage is an error or another batch, never a crash") {
  Random random(5);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    const SampleOptions options = i % 3 ? (i % 2 ? labor_1() : uniform()) : trees();
    Ranks ranks(graph(), options, by_hash(*graph(), kRanks));
    try {
      std::optional<Messages> sent = ranks.start(0, seeds());
      for (int left = static_cast<int>(random() % 8); sent; --left) {
        Messages arrived = deliver(*sent);
        if (left == 0) {
          auto parts = split(arrived[0]);
          parts[kGuilty] = damage(parts[kGuilty], random);
          arrived[0] = join(parts);
        }
        sent = ranks.receive(arrived);
      }
      (void)ranks.take();
    } catch (const Error& error) {
      ++refused;
      CHECK(std::string(error.what()).size() < 1000);
    }
    const Minibatch alone = NeighborSampler(graph(), options).sample({0, seeds()}, 0, 0);
    CHECK(edges_of(*graph(), ranks.sample(0, seeds())) == edges_of(*graph(), {alone}));
  }
  CHECK(refused > 100);
}

TEST_CASE("steps out of turn, and seeds and members that do not fit, are refused") {
  Ranks ranks(graph(), uniform(), by_hash(*graph(), kRanks));
  CHECK_THROWS_WITH_AS(ranks[0].receive({}), doctest::Contains("call start() first"), Error);
  CHECK_THROWS_AS(ranks[0].take(), Error);  // nothing was made
  const Messages sent = ranks.start(0, seeds());
  CHECK_THROWS_AS(ranks[0].take(), Error);  // not yet complete
  std::vector<int64_t> foreign = ranks.own(0, seeds(), 0);
  foreign.push_back(ranks.own(0, seeds(), 2).front());
  const std::vector<int64_t> none{-1};
  const Seeds of_others{0, foreign}, of_none{0, none};
  CHECK_THROWS_WITH_AS(ranks[0].start({&of_others, 1}, 0, 0),
                       doctest::Contains("belongs to rank 2, not to 0"), Error);
  CHECK_THROWS_WITH_AS(ranks[0].start({&of_none, 1}, 0, 0), doctest::Contains("seeds[0] = -1"),
                       Error);
  CHECK_THROWS_WITH_AS(ranks[0].ask({&of_none, 1}, 0, 0), doctest::Contains("seeds[0] = -1"),
                       Error);
  CHECK(ranks.sample(0, seeds()).size() == kRanks);
  CHECK_THROWS_AS(ranks[0].take(), Error);  // a batch is taken once

  const auto make = [](const Owners& owners, int64_t rank) {
    CooperativeSampler sampler(graph(), uniform(), {owners, rank});
  };
  const Owners good = by_hash(*graph(), kRanks);
  CHECK_THROWS_WITH_AS(make(good, 3), "rank is 3, expected 0 to 2", Error);
  CHECK_THROWS_WITH_AS(make(good, -1), "rank is -1, expected 0 to 2", Error);
  CHECK_THROWS_WITH_AS(make({}, 0), "ownership of 0 node types, but there are 1", Error);
  CHECK_THROWS_WITH_AS(make({good[0], good[0]}, 0), "ownership of 2 node types, but there are 1",
                       Error);
  const auto other = make_graph(10, 20, 1);
  CHECK_THROWS_WITH_AS(make(by_hash(*other, 3), 0),
                       "ownership of 10 nodes, but node type 'node' has 200", Error);
}

TEST_CASE("a node type that is none is an Error") {
  CooperativeSampler sampler(graph(), uniform(), {by_hash(*graph(), kRanks), 0});
  for (const int type : {-1, 1}) {
    const Seeds seeds{type, {}};
    CHECK_THROWS_WITH_AS(sampler.start({&seeds, 1}, 0, 0),
                         ("node type is " + std::to_string(type) + ", outside [0, 1)").c_str(),
                         Error);
  }
}
