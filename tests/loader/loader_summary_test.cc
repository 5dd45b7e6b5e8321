// How many threads a loader has at work, and what its summary tells of their time.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/parallel.h"
#include "loader/loader_fixture.h"
#include "loader/pipeline/clock.h"
#include "loader/pipeline/worker_scaler.h"
#include "ramet/loader.h"
#include "support/graph_fixture.h"

using namespace ramet;
using namespace std::chrono_literals;
using test::options_for;
using test::run_epoch;

TEST_CASE("the number of workers follows the slower of making and using") {
  WorkerScaler scaler(8, 3);
  CHECK(scaler.threads() == 3);
  const auto feed = [&](double made, double used) {
    for (int i = 0; i < 5; ++i) {
      scaler.made(made);
      scaler.used(used);
    }
    return scaler.threads();
  };
  CHECK(feed(0.06, 0.5) == 1);
  CHECK(feed(0.9, 0.5) == 3);
  CHECK(feed(0.1, 0) == 8);
  CHECK(feed(0, 0.1) == 1);
  scaler.used(1000);  // validated in between
  CHECK(feed(0.5, 0.1) == 7);
  scaler.used(1000);
  CHECK(scaler.threads() == 7);
  CHECK(WorkerScaler(4, 0).threads() == 1);
  CHECK(WorkerScaler(4, 9).threads() == 4);
}

TEST_CASE("waits for a core are a part of the time, and count where threads share one") {
  const CoreWait core_wait;
  const auto begin = Clock::now();
  const double before = core_wait.seconds();
  std::atomic<bool> is_over = before == 0;  // this kernel does not count
  std::vector<std::thread> others;
  for (int i = 0; i < 2 * machine_threads(); ++i)
    others.emplace_back([&] {
      while (!is_over)
        ;
    });
  while (!is_over)
    is_over = core_wait.seconds() > before || seconds_since(begin) > 60;
  for (std::thread& thread : others)
    thread.join();
  const double waited = core_wait.seconds() - before;
  CHECK(waited <= seconds_since(begin));
  CHECK((before == 0 || waited > 0));

  const auto graph = test::make_graph(1000, 9000, 1);
  const NeighborLoader loader(graph, options_for(2));
  static_cast<void>(run_epoch(loader, 0));
  const LoaderSummary told = loader.summary();
  CHECK(told.core_wait_seconds >= 0);
  CHECK(told.core_wait_seconds <= told.sample_seconds + told.gather_seconds);
  CHECK(told.use_core_wait_seconds <= told.use_seconds);
}

TEST_CASE("the summary adds up what was handed out") {
  const auto graph = test::make_graph(1000, 9000, 1);
  const NeighborLoader loader(graph, options_for(2));
  CHECK(loader.summary().batches == 0);
  BatchSize sum;
  double waited = 0;
  int64_t largest = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const Batch& batch : run_epoch(loader, epoch)) {
      const BatchSize size = size_of(batch);
      CHECK(size.nodes == batch.minibatch.n_id[0].rows());
      CHECK(size.table_bytes == batch.tables[0].bytes());
      sum.nodes += size.nodes;
      sum.edges += size.edges;
      sum.bytes += size.bytes;
      largest = std::max(largest, size.bytes);
      waited += batch.timings.wait_seconds;
    }
  }
  const LoaderSummary summary = loader.summary();
  CHECK(summary.batches == 2 * loader.num_steps());
  CHECK(summary.nodes == sum.nodes);
  CHECK(summary.edges == sum.edges);
  CHECK(summary.bytes == sum.bytes);
  CHECK(summary.largest_batch_bytes == largest);
  CHECK(summary.wait_seconds == doctest::Approx(waited));
  CHECK(summary.first_wait_seconds <= summary.wait_seconds);
  CHECK(summary.threads == 2);
}

TEST_CASE("waiting and using are told apart") {
  const auto graph = test::make_graph(1000, 9000, 1);
  const NeighborLoader loader(graph, options_for(1));
  const auto stream = loader.start(0);
  (void)stream->next(test::kPatience);
  std::this_thread::sleep_for(20ms);
  (void)stream->next(test::kPatience);
  std::this_thread::sleep_for(20ms);
  const LoaderSummary summary = loader.summary();
  CHECK(summary.use_seconds >= 0.02);  // of the first; the second is still in use
  CHECK(summary.wait_seconds >= summary.first_wait_seconds);
}
