// CudaSampler against NeighborSampler, bit for bit.
#include "ramet/cuda_sampler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/sampling_fixture.h"
#include "ramet/error.h"
#include "ramet/random.h"
#include "support/errors.h"
#include "support/slow_build.h"
#include "support/threads.h"

namespace ramet::test {
namespace {

SampleOptions labor(std::vector<int64_t> fanouts, int64_t iterations = 0) {
  return {{std::move(fanouts)}, Labor{iterations}, 4};
}

TEST_CASE("uniform minibatches are the host's") {
  const auto graph = uneven_graph(300, 2800, 11);
  const auto wide = uneven_graph<int64_t>(300, 2800, 11);
  for (const bool replace : {false, true}) {
    CAPTURE(replace);
    check_against_host(graph, {{{4, 0, 15, 1}}, Uniform{replace}, 77}, kSeeds);
    check_against_host(wide, {{{5, 40}}, Uniform{replace}, 78}, kSeeds);
    check_against_host(graph, {{{32, 33}}, Uniform{replace}, 79}, kSeeds);
    check_against_host(graph, {{{300, 2}}, Uniform{replace}, 80}, kSeeds);
    check_against_host(wide, {{{64, 65}}, Uniform{replace}, 81}, kSeeds);
    check_against_host(graph, {{{-1, 3}}, Uniform{replace}, 1}, kSeeds);
  }
  check_against_host(wide, {{{2, -1}}, Uniform{}, 2}, kSeeds);
  check_against_host(graph, {{{0}}, Uniform{}, 2}, kSeeds);
  check_against_host(graph, {{{3, 3}}, Uniform{}, 2}, {});
}

TEST_CASE("hubs of thousands of in-edges, and as many picks of them") {
  const auto graph = uneven_graph(2000, 60'000, 5);
  check_against_host(graph, {{{1000, 2}}, Uniform{}, 3}, {7, 11, 7, 8}, 0, 1);
  check_against_host(graph, {{{2500}}, Uniform{.replace = true}, 3}, {7, 11, 7, 8}, 0, 1);
  check_against_host(graph, {{{10, 5}}, Uniform{}, 3}, {7, 11, 1, 8}, 0, 1);
  check_against_host(graph, labor({10, 5}), {7, 11, 1, 8}, 0, 1);
  check_against_host(graph, labor({10}, 2), {7, 11, 1, 8}, 0, 1);
  // More picks than a block of a sum has terms: the weights have its order.
  check_against_host(graph, labor({2500}, 2), {7, 11, 1, 8}, 0, 1);
  check_against_host(graph, labor({-1}, 1), {7, 11, 1, 8}, 0, 1);
}

// Several regions of 2 MiB, so that sorted rows are in another order than their destinations.
TEST_CASE("rows of a large topology may be read by the part of it that they are in") {
  constexpr int64_t kNodes = 50'000;
  const auto graph = uneven_graph(kNodes, 1'100'000, 6);
  std::vector<int64_t> seeds{7, 7};
  for (int64_t i = 0; i < (kSlowBuild ? 60 : 300); ++i)
    seeds.push_back(i * 7919 % kNodes);
  check_against_host(graph, {{{5, 3}}, Uniform{}, 3}, seeds, 0, 1);
  check_against_host(graph, {{{100}}, Uniform{}, 3}, seeds, 0, 1);
  check_against_host(graph, {{{2000}}, Uniform{}, 3}, seeds, 0, 1);
  check_against_host(graph, {{{-1}}, Uniform{}, 3}, seeds, 0, 1);
  check_against_host(graph, {{{5, 3}}, Uniform{.replace = true}, 3}, seeds, 0, 1);
  check_against_host(graph, labor({5, 3}), seeds, 0, 1);
  check_against_host(graph, labor({5}, 2), seeds, 0, 1);
}

TEST_CASE("LABOR's minibatches, and their weights, are the host's") {
  const auto graph = uneven_graph(300, 2800, 12);
  const auto wide = uneven_graph<int64_t>(300, 2800, 12);
  check_against_host(graph, labor({4, 0, 10}), kSeeds);
  check_against_host(wide, labor({1, 40}), kSeeds);
  check_against_host(graph, labor({-1, 2}), kSeeds);
  check_against_host(graph, labor({3, 3, 3}, 1), kSeeds);
  check_against_host(wide, labor({5, 0, 7}, 4), kSeeds);
  check_against_host(graph, labor({-1, 4}, 3), kSeeds);
  check_against_host(graph, labor({4}, 2), {});
  check_against_host(graph, {{{5, 5}}, Labor{.layer_dependent = true}, 4}, kSeeds);
}

TEST_CASE("Horvitz-Thompson weights are the host's, and others than the normalized ones") {
  const auto graph = uneven_graph(300, 2800, 12);
  for (const int64_t iterations : {0, 3}) {
    SampleOptions options = labor({3, -1, 10}, iterations);
    options.method = Labor{.iterations = iterations, .weights = Weights::kHorvitzThompson};
    check_against_host(graph, options, kSeeds);
    const Minibatch one = NeighborSampler(graph, options).sample({0, kSeeds}, 0, 0);
    options.method = Labor{iterations};
    const Minibatch other = NeighborSampler(graph, options).sample({0, kSeeds}, 0, 0);
    CHECK(has_weights(one.blocks[0]));
    CHECK(has_weights(other.blocks[0]) == (iterations > 0));
    const Array a = edge_weights(one.blocks[2].relations[0]);
    const Array b = edge_weights(other.blocks[2].relations[0]);
    REQUIRE(a.bytes() == b.bytes());
    CHECK(std::memcmp(a.data, b.data, static_cast<size_t>(a.bytes())) != 0);
  }
}

TEST_CASE("dependent minibatches are the host's") {
  const auto graph = uneven_graph(300, 2800, 13);
  for (SampleOptions options :
       {SampleOptions{{{40, 3}}, Uniform{.replace = true}, 3}, labor({5, 5}), labor({5, 5}, 2)}) {
    options.dependent = 4;
    check_against_host(graph, options, kSeeds, 0, 4);
  }
}

TEST_CASE("what processors alone sample is refused, and named") {
  const auto graph = uneven_graph(300, 2800, 13);
  const SampleOptions options{{{5}}, Budget{}, 3, 1, Expand::kOnce};
  CHECK_THROWS_WITH_AS(DeviceSampler(graph, options),
                       "sampling by a budget of nodes runs on the CPU, not on a device", Error);
}

TEST_CASE("typed minibatches are the host's") {
  const auto graph = typed_graph(21);
  const std::vector<std::vector<int64_t>> fanouts{
      {3, 5, 40}, {0, 4, 2}, {-1, 2, 1}, {2, 2, 2}, {35, 1, 0}};
  for (int seed_type = 0; seed_type < 3; ++seed_type) {
    const std::vector<int64_t> seeds{8, 1, 8, 3};
    check_against_host(graph, {fanouts, Uniform{}, 5}, seeds, seed_type);
    for (const int64_t iterations : {0, 2}) {
      const SampleOptions options{fanouts, Labor{iterations}};
      check_against_host(graph, options, seeds, seed_type);
    }
  }
  check_against_host(graph,
                     {std::vector<std::vector<int64_t>>(5, {4, 3}), Uniform{.replace = true}, 5},
                     {1, 2, 0}, 1);
}

TEST_CASE("minibatches that sample each node once are the host's") {
  const std::vector<int64_t> seeds{8, 1, 8, 3};
  for (const Method& method : {Method(Uniform{}), Method(Labor{}), Method(Labor{2})}) {
    for (const bool disjoint : {false, true}) {
      CAPTURE(disjoint);
      const std::vector<std::vector<int64_t>> fanouts(5, {3, 4, 2});
      check_against_host(typed_graph(21), {fanouts, method, 5, 1, Expand::kOnce, disjoint}, seeds,
                         1, 1);
    }
  }
}

TEST_CASE("minibatches of seeds of several types, and without hops, are the host's") {
  const auto graph = typed_graph(22);
  const std::vector<int64_t> papers{8, 1, 8}, venues{2};
  const std::vector<Seeds> seeds{{1, papers}, {0, {}}, {2, venues}};
  for (const std::vector<int64_t>& fanouts : {std::vector<int64_t>{4, 3}, std::vector<int64_t>{}}) {
    const SampleOptions options{std::vector(5, fanouts), Uniform{}, 5};
    DeviceSampler device(graph, options);
    require_same(NeighborSampler(graph, options).sample(seeds, 0, 3),
                 to_host(device.sample(seeds, 0, 3)));
  }
}

TEST_CASE("random graphs, seeds and fanouts") {
  const uint64_t key = 99;
  for (uint64_t round = 0; round < (kSlowBuild ? 2 : 8); ++round) {
    CAPTURE(round);
    const auto random = [&](uint64_t i, uint64_t n) {
      return static_cast<int64_t>(uniform_below(absorb(absorb(key, round), i), n));
    };
    const int64_t num_nodes = 30 + random(0, 500);
    const auto graph = uneven_graph(num_nodes, random(1, 6000), round);
    std::vector<int64_t> seeds;
    for (int64_t i = 0; i < random(2, 300); ++i)
      seeds.push_back(random(100 + static_cast<uint64_t>(i), static_cast<uint64_t>(num_nodes)));
    SampleOptions options{{{random(3, 12), random(4, 50), random(5, 4)}}, Uniform{}, round};
    check_against_host(graph, options, seeds, 0, 1);
    options.method = Labor{random(6, 3)};
    check_against_host(graph, options, seeds, 0, 1);
  }
}

TEST_CASE("batches of any size follow each other, and scratch leaves no trace") {
  const auto graph = uneven_graph(3000, 30'000, 14);
  std::vector<int64_t> seeds;
  for (int64_t i = 0; i < 600; ++i)
    seeds.push_back(i * 7 % 3000);
  const SampleOptions options{{{5, 3}}, Uniform{}, 1};
  NeighborSampler host(graph, options);
  DeviceSampler device(graph, options);
  for (const size_t count : {10, 600, 1, 300, 0, 600}) {
    const std::vector<int64_t> some(seeds.begin(), seeds.begin() + static_cast<long>(count));
    require_same(host.sample({0, some}, 0, count),
                 to_host(device.sample(Seeds{0, some}, 0, count)));
  }
}

TEST_CASE("what is derived from a device's relations is what is derived from the host's") {
  const auto graph = typed_graph(23);
  const SampleOptions options{std::vector<std::vector<int64_t>>(5, {4, 3}), Uniform{}, 5};
  const std::vector<int64_t> seeds{1, 2, 3};
  const Minibatch host = NeighborSampler(graph, options).sample({1, seeds}, 0, 0);
  DeviceSampler device(graph, options);
  const Minibatch given = device.sample(Seeds{1, seeds}, 0, 0);
  const auto check = [&](const Array& expected, const Array& derived) {
    REQUIRE(derived.device == 0);
    Minibatch carrier;
    carrier.n_id = {derived};
    require_same(expected, to_host(carrier).n_id.front());
  };
  for (size_t b = 0; b < host.blocks.size(); ++b) {
    for (size_t r = 0; r < host.blocks[b].relations.size(); ++r) {
      const Relation& one = host.blocks[b].relations[r];
      const Relation& other = given.blocks[b].relations[r];
      check(positions(one), positions(other, device.pool(), device.stream()));
      check(edge_ids(*graph, one), edge_ids(device.graph(), other, device.pool(), device.stream()));
      check(edge_weights(one), edge_weights(other, device.pool(), device.stream()));
      check(edge_index(one), edge_index(other, device.pool(), device.stream()));
      CHECK_THROWS_WITH_AS(edge_index(other), doctest::Contains("on device 0"), Error);
      CHECK_THROWS_AS(edge_index(one, device.pool(), device.stream()), Error);
    }
  }
}

TEST_CASE("samplers on streams of their own work at once") {
  const auto graph = uneven_graph(1000, 20'000, 15);
  const SampleOptions options{{{10, 5}}, Uniform{}, 6};
  std::vector<Minibatch> expected;
  NeighborSampler host(graph, options);
  for (uint64_t step = 0; step < 4; ++step)
    expected.push_back(host.sample({0, kSeeds}, 0, step));
  std::vector<std::vector<Minibatch>> given(3);
  in_threads(3, [&](int t) {
    DeviceSampler device(graph, options);
    for (uint64_t step = 0; step < 4; ++step)
      given[size_t(t)].push_back(to_host(device.sample(Seeds{0, kSeeds}, 0, step)));
  });
  for (const auto& batches : given) {
    for (size_t step = 0; step < 4; ++step)
      require_same(expected[step], batches[step]);
  }
}

TEST_CASE("everybody who asks for the same topology on a device shares it") {
  const auto graph = uneven_graph(100, 1000, 16);
  const auto one = CudaGraph::create(graph, 0, Location::kDevice);
  CHECK(CudaGraph::create(graph, 0, Location::kDevice) == one);
  CHECK(CudaGraph::create(graph, 0, Location::kInPlace) != one);
  CHECK_THROWS_AS(CudaGraph::create(graph, 0, Location::kStaged), Error);
  CHECK(CudaGraph::bytes_on_device(*graph, {}) ==
        graph->edge_types()[0].indptr.bytes() + graph->edge_types()[0].indices.bytes());
}

TEST_CASE("everybody who asks for copies of in-edges shares those of the first") {
  const auto graph = uneven_graph(100, 1000, 16);
  const auto in_place = CudaGraph::create(graph, 0, Location::kInPlace);
  const auto copies_of = [&](CudaGraph::EdgeGroups groups) {
    return CudaGraph::with_copies(in_place, [&] { return groups; });
  };
  CHECK(in_place->slots_of_copies(0) == nullptr);
  CHECK(copies_of({{}}) == in_place);
  const auto some = copies_of({{1, 4}});
  CHECK(some->slots_of_copies(0) != nullptr);
  CHECK(some->indices(0) == in_place->indices(0));
  CHECK(copies_of({{2}}) == some);
  CHECK(CudaGraph::create(graph, 0, Location::kInPlace) == in_place);
}

TEST_CASE("copies are of groups that there are") {
  const auto graph = uneven_graph(100, 1000, 16);
  const auto in_place = CudaGraph::create(graph, 0, Location::kInPlace);
  const auto check_refused = [&](const CudaGraph::EdgeGroups& groups, const std::string& word) {
    test::check_throws(ErrorCode::kInvalidArgument, {word},
                       [&] { (void)CudaGraph::with_copies(in_place, [&] { return groups; }); });
  };
  check_refused({{7}}, "group 7 of in-edges of edge type");
  check_refused({{-1}}, "expected at most 6");
  check_refused({{1, 4, 4}}, "comes after group 4, expected ascending groups");
  check_refused({}, "of 0 edge types, expected 1");
  test::check_throws(ErrorCode::kInvalidArgument, {"'device', expected 'in_place'"}, [&] {
    (void)CudaGraph::with_copies(CudaGraph::create(graph, 0, Location::kDevice),
                                 [] { return CudaGraph::EdgeGroups{{0}}; });
  });
}

TEST_CASE("a batch that is stopped leaves no trace") {
  const auto graph = uneven_graph(300, 2800, 17);
  for (const SampleOptions& options : {SampleOptions{{{5, 5}}, Uniform{}, 6}, labor({5, 5}, 3)}) {
    DeviceSampler device(graph, options);
    const std::atomic<bool> stop = true;
    CHECK(device.sample(Seeds{0, kSeeds}, 0, 0, &stop).blocks.empty());
    require_same(NeighborSampler(graph, options).sample({0, kSeeds}, 0, 1),
                 to_host(device.sample(Seeds{0, kSeeds}, 0, 1)));
  }
}

}  // namespace
}  // namespace ramet::test
