// Stores whose rows or ids do not fit, and other bad input: the device says what the host says, and
// follows nothing.
#include <doctest/doctest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuda/registration_fixture.h"
#include "cuda/sampling_fixture.h"
#include "device/device_memory.h"
#include "ramet/error.h"
#include "ramet/negatives.h"
#include "ramet/walks.h"
#include "sampling/links/cuda_negatives.h"
#include "support/errors.h"
#include "support/setting.h"

namespace ramet::test {
namespace {

template <typename Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + ": " + error.what();
  }
  return "nothing";
}

template <typename Sampler>
std::string message_of(Sampler& sampler, const std::vector<int64_t>& seeds) {
  return message_of([&] { (void)sampler.sample(Seeds{0, seeds}, 0, 0); });
}

template <typename Id>
std::shared_ptr<const Graph> graph_of_rows(const std::vector<int64_t>& indptr,
                                           const std::vector<Id>& indices) {
  return graph_of(one_type({borrow(indptr), borrow(indices), {}}, std::ssize(indptr) - 1));
}

const std::vector<SampleOptions> kKinds{
    {{{-1}}},
    {{{2}}},
    {{{40}}},
    {{{3}}, Uniform{.replace = true}},
    {.fanouts = {{-1}}, .method = Labor{}},
    {.fanouts = {{-1}}, .method = Labor{.iterations = 1}},
};

// Whether or not the host refuses these seeds; both samplers stay usable.
void check_same_message(const std::shared_ptr<const Graph>& graph,
                        const std::vector<int64_t>& seeds,
                        const std::vector<int64_t>& good_seeds) {
  for (const SampleOptions& options : kKinds) {
    CAPTURE(options.fanouts[0][0]);
    for (const Reading& reading : kReadings) {
      NeighborSampler host(graph, options);
      DeviceSampler device(graph, options, reading.topology, reading.order);
      const std::string expected = message_of(host, seeds);
      CHECK(expected != "nothing");
      CHECK(message_of(device, seeds) == expected);
      require_same(host.sample({0, good_seeds}, 0, 0),
                   to_host(device.sample(Seeds{0, good_seeds}, 0, 0)));
    }
  }
}

TEST_CASE("rows that do not fit are refused with the host's words") {
  const std::vector<int32_t> ids{0, 1, 2};
  check_same_message(graph_of_rows<int32_t>({0, 9, 2, 3, 3}, ids), {3, 0, 1}, {2, 3});
  check_same_message(graph_of_rows<int32_t>({0, 2, 1, 3, 3}, ids), {2, 1, 0}, {3});
  check_same_message(graph_of_rows<int32_t>({0, -1, 2, 3, 3}, ids), {3, 0, 1, 2}, {2});
  check_same_message(graph_of_rows<int32_t>({0, INT64_MAX, INT64_MIN, 3, 3}, ids), {1, 0}, {3});
}

// Of each of four nodes, the first of which the host refuses.
void check_refused(int64_t node, const std::string& said, const std::string& expected) {
  CAPTURE(node);
  CHECK(said == expected);
  if (node == 0) CHECK(expected != "nothing");
}

void check_refused_walks(const std::shared_ptr<const Graph>& graph, const WalkOptions& options) {
  const std::vector<WalkEdges> path{{.graph = graph}};
  const CudaStream stream(0);
  const int64_t zero = 0;
  for (int64_t node = 0; node < 4; ++node) {
    const auto start = copy_on(0, &node, sizeof node), number = copy_on(0, &zero, sizeof zero);
    const auto there = [](const std::shared_ptr<void>& data, std::vector<int64_t> shape) {
      return Array{data.get(), DType::kInt64, std::move(shape), data, true, 0};
    };
    const std::vector<int64_t> empty(static_cast<size_t>(options.length + 1));
    const Walks walks{there(copy_on(0, empty.data(), std::ssize(empty) * int64_t{sizeof(int64_t)}),
                            {1, std::ssize(empty)}),
                      {}};
    const auto on_device = [&] {
      random_walks_on_device(path, there(start, {1}), there(number, {1}), options, walks,
                             stream.handle());
    };
    check_refused(node, message_of(on_device),
                  message_of([&] { (void)random_walks(path, {&node, 1}, options); }));
  }
}

void check_refused_negatives(const std::shared_ptr<const Graph>& graph) {
  const NegativeOptions options{.destinations = {.num_nodes = 4},
                                .sources = {.num_nodes = 4},
                                .edges = {{.graph = graph, .by_source = true}}};
  const CudaStream stream(0);
  const auto pool = DevicePool::shared(0)->on(stream.handle()), pinned = create_pinned_pool();
  const CudaNegatives there(options, 0);
  for (int64_t node = 0; node < 4; ++node) {
    const std::span<const int64_t> one(&node, 1);
    const Pairs pairs{.sources = one, .destinations = one, .ids = one};
    const auto on_device = [&] {
      (void)there.draw(pairs, options, pool, *pinned, stream.handle());
    };
    check_refused(node, message_of(on_device),
                  message_of([&] { (void)draw_negatives(pairs, options); }));
  }
}

TEST_CASE("walks and negatives refuse rows that do not fit with the host's words") {
  const std::vector<int32_t> ids{0, 1, 2};
  for (const std::vector<int64_t>& indptr :
       {std::vector<int64_t>{0, 9, 2, 3, 3}, {0, INT64_MAX, INT64_MIN, 3, 3}}) {
    const auto graph = graph_of_rows(indptr, ids);
    check_refused_walks(graph, {.length = 3});
    check_refused_walks(graph, {.length = 3, .node2vec = Node2Vec{0.5, 2}});
    check_refused_negatives(graph);
  }
}

TEST_CASE("ids that do not fit are refused with the host's words") {
  check_same_message(graph_of_rows<int32_t>({0, 1, 2, 3, 4}, {0, 4, 2, -7}), {0, 3, 1}, {0, 2});
  check_same_message(graph_of_rows<int32_t>({0, 1, 2, 3, 4}, {0, 1, INT32_MAX, 3}), {1, 2}, {0, 3});
  check_same_message(graph_of_rows<int64_t>({0, 1, 2, 3, 4}, {INT64_MIN, 1, 2, 3}), {1, 0}, {2, 3});
  check_same_message(graph_of_rows<int64_t>({0, 1, 2, 3, 4}, {int64_t{1} << 32, 1, 2, 3}), {0},
                     {2});
}

TEST_CASE("with several faults the first edge type's is named") {
  const std::vector<int64_t> good{0, 1, 2, 3}, bad_rows{0, 9, 2, 3};
  const std::vector<int32_t> ids{0, 1, 2}, bad_ids{0, 1, 77};
  const auto check = [&](const std::vector<int64_t>& first_rows,
                         const std::vector<int32_t>& first_ids,
                         const std::vector<int64_t>& second_rows) {
    StoreContents contents;
    contents.node_counts["node"] = 3;
    contents.arrays = {{"edge/node__a__node/indptr", borrow(first_rows)},
                       {"edge/node__a__node/indices", borrow(first_ids)},
                       {"edge/node__b__node/indptr", borrow(second_rows)},
                       {"edge/node__b__node/indices", borrow(ids)}};
    const auto graph = graph_of(contents);
    const SampleOptions options{{{2}, {2}}};
    NeighborSampler host(graph, options);
    DeviceSampler device(graph, options);
    CHECK(message_of(device, {0, 1, 2}) == message_of(host, {0, 1, 2}));
  };
  check(good, bad_ids, bad_rows);
  check(bad_rows, ids, bad_rows);
  check(good, ids, bad_rows);
}

TEST_CASE("bad options and seeds are named, and the sampler stays usable") {
  const auto graph = make_graph(10, 30, 1);
  CHECK_THROWS_WITH_AS(DeviceSampler(graph, {{{3, -2}}}),
                       doctest::Contains("num_neighbors[1] of edge type 'node__to__node' is -2"),
                       Error);
  NeighborSampler host(graph, {{{2}}});
  DeviceSampler device(graph, {{{2}}});
  CHECK(message_of(device, {0, 10}) == message_of(host, {0, 10}));
  CHECK(message_of(device, {-1}) == message_of(host, {-1}));
  CHECK(message_of(device, {0, 9}) == "nothing");
  for (const int64_t fanout : {int64_t{1} << 62, int64_t{1} << 31}) {
    DeviceSampler greedy(graph, {{{fanout}}, Uniform{.replace = true}});
    CHECK(contains(message_of(greedy, {0, 1, 2, 3, 4, 5}),
                   "for 6 destinations of edge type 'node__to__node' gives more than "
                   "2147483646 edges"));
  }
}

// Between too little memory for anything and enough, each array is once the one that is refused.
TEST_CASE("after a batch of trees found no memory, the next is as ever") {
  if (!is_emulated()) return;
  const auto graph = uneven_graph(300, 600, 3);
  const SampleOptions options{.fanouts = {{1}}, .disjoint = true};
  const std::vector<int64_t> many(4000, 7);
  NeighborSampler host(graph, options);
  DeviceSampler device(graph, options);
  const Minibatch expected = host.sample({0, kSeeds}, 0, 0);
  int refused = 0;
  for (int64_t bytes = 1 << 14;; bytes += 1 << 14) {
    std::string message;
    {
      const Setting setting("RAMET_EMULATOR_MEMORY", std::to_string(bytes));
      message = message_of(device, many);
    }
    require_same(expected, to_host(device.sample(Seeds{0, kSeeds}, 0, 0)));
    if (message == "nothing") break;
    CHECK(message.find("are free") != std::string::npos);
    ++refused;
  }
  CHECK(refused > 0);
}

}  // namespace
}  // namespace ramet::test
