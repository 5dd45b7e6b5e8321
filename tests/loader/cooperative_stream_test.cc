// Streams of ranks that sample together, each rank with threads of its own, as processes have them.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "ramet/cooperative_loader.h"
#include "support/cooperative_fixture.h"
#include "support/errors.h"
#include "support/part_fixture.h"
#include "support/rank_threads.h"
#include "support/threads.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr size_t kRanks = 3;

LoaderOptions options_with(int prefetch) {
  LoaderOptions options;
  options.sample = {.fanouts = {{4, 3}}, .seed = 5};
  options.batch_size = 50;
  options.shuffle = true;
  options.prefetch = prefetch;
  options.tables = {{.name = "feat"}};
  options.host.cache_rows = 20;
  options.host.cache_by = CacheBy::kLookAhead;
  options.host.look_ahead = 3;
  return options;
}

// Runs `program(rank, its loader, its thread)` on every rank at once.
using Program =
    std::function<void(size_t rank, CooperativeLoader&, const std::shared_ptr<GroupThread>&)>;

void run_ranks(const std::function<CooperativeLoader(int64_t rank)>& make_loader,
               const Program& program) {
  Mail mail(kRanks);
  in_threads(kRanks, [&](int rank) {
    CooperativeLoader loader = make_loader(rank);
    program(size_t(rank), loader, std::make_shared<RankThread>(mail, size_t(rank)));
  });
}

void run_ranks(const std::shared_ptr<const Graph>& graph, int prefetch, const Program& program) {
  const auto make_loader = [&](int64_t rank) {
    const NeighborLoader loader(graph, options_with(prefetch));
    return CooperativeLoader(loader, {by_hash(*graph, kRanks), rank});
  };
  run_ranks(make_loader, program);
}

// Of a loader over all nodes.
bool has_ids_of_its_seeds(const Batch& batch) {
  const auto items = batch.input_id.as<int64_t>();
  return std::ssize(items) == batch.minibatch.num_seeds &&
         std::equal(items.begin(), items.end(), batch.minibatch.n_id[0].as<int64_t>().begin());
}

bool has_rows_of_its_nodes(const Batch& batch) {
  const auto ids = batch.minibatch.n_id[0].as<int64_t>();
  const auto rows = batch.tables.at(0).as<float>();
  bool same = rows.size() == 2 * ids.size();
  for (size_t i = 0; same && i < ids.size(); ++i)
    same = rows[2 * i] == static_cast<float>(ids[i]);
  return same;
}

}  // namespace

TEST_CASE("streams of ranks give the batches of one process, also two at once") {
  const auto graph = make_graph(500, 4000, 1);
  const NeighborLoader alone(graph, options_with(1));
  const auto steps = static_cast<size_t>(alone.num_steps());
  for (const int prefetch : {1, 4}) {
    std::vector<std::vector<Minibatch>> made[2];  // by epoch, step, rank
    for (auto& of_epoch : made)
      of_epoch.assign(steps, std::vector<Minibatch>(kRanks));
    bool is_right[kRanks] = {};
    run_ranks(graph, prefetch, [&](size_t rank, CooperativeLoader& loader, const auto& thread) {
      const auto one = loader.start(0, 0, thread), other = loader.start(1, 0, thread);
      is_right[rank] = true;
      for (size_t step = 0; step < steps; ++step) {
        for (size_t epoch = 0; epoch < 2; ++epoch) {
          std::optional<Batch> batch = (epoch == 0 ? *one : *other).next(kPatience);
          is_right[rank] &= batch && batch->step == static_cast<int64_t>(step) &&
                            batch->cache.hits + batch->cache.misses > 0 &&
                            has_rows_of_its_nodes(*batch) && has_ids_of_its_seeds(*batch);
          if (batch) made[epoch][step][rank] = std::move(batch->minibatch);
        }
      }
      is_right[rank] &= one->done() && !one->next(kPatience);
      close(*one);
      close(*other);
    });
    for (const bool right : is_right)
      CHECK(right);
    NeighborSampler sampler(graph, alone.options().sample);
    for (size_t epoch = 0; epoch < 2; ++epoch) {
      for (size_t step = 0; step < steps; ++step) {
        const auto seeds = alone.seeds(static_cast<int64_t>(epoch), static_cast<int64_t>(step));
        const Minibatch whole = sampler.sample({0, seeds}, epoch, step);
        REQUIRE(edges_of(*graph, made[epoch][step]) == edges_of(*graph, {whole}));
      }
    }
  }
}

TEST_CASE("a stream that is left early leaves the ranks in step") {
  const auto graph = make_graph(500, 4000, 1);
  int64_t seeds[kRanks] = {};
  run_ranks(graph, 3, [&](size_t rank, CooperativeLoader& loader, const auto& thread) {
    for (int64_t epoch = 0; epoch < 5; ++epoch) {
      const auto stream = loader.start(epoch, 0, thread);
      for (int64_t step = 0; step < epoch; ++step)
        (void)stream->next(kPatience);
      if (epoch % 2 == 0) close(*stream);  // else the tasks outlive the stream
    }
    const auto stream = loader.start(5, 9, thread);
    seeds[rank] = stream->next(kPatience)->minibatch.num_seeds;
    close(*stream);
  });
  CHECK(seeds[0] + seeds[1] + seeds[2] == 50);
}

TEST_CASE("a stream that is left gives its memory back, also where tasks are kept") {
  // Of one rank, whose messages are for itself. Keeps the tasks that it has run, or is to run.
  class Keeping final : public GroupThread {
   public:
    explicit Keeping(bool runs) : runs_(runs) {}
    void submit(std::unique_ptr<SampleTask> task) override {
      tasks_.push_back(std::move(task));
      if (runs_) run(*tasks_.back());
    }
    bool is_caller() const override { return false; }
    void run_all() {
      for (const auto& task : tasks_)
        run(*task);
    }

   private:
    static void run(SampleTask& task) {
      task.run([](const Message& message) { return message; });
    }
    const bool runs_;
    std::vector<std::unique_ptr<SampleTask>> tasks_;
  };
  const auto graph = make_graph(500, 4000, 1);
  const NeighborLoader loader(graph, options_with(4));
  const CooperativeLoader alone(loader, {by_hash(*graph, 1), 0});
  const auto kept = std::make_shared<Keeping>(true), later = std::make_shared<Keeping>(false);
  {
    const auto stream = alone.start(0, 0, kept);
    CHECK(stream->next(kPatience));
    CHECK(loader.pool()->bytes_in_use() > 0);
    CHECK(stream->close(kPatience));
  }
  CHECK(loader.pool()->bytes_in_use() == 0);
  static_cast<void>(alone.start(1, 0, later));  // left before its tasks run
  later->run_all();
  CHECK(loader.pool()->bytes_in_use() == 0);
}

TEST_CASE("a task that is dropped is an error in the place of its batch") {
  const auto graph = make_graph(100, 500, 1);
  const CooperativeLoader loader(NeighborLoader(graph, options_with(1)), {by_hash(*graph, 1), 0});
  const auto stream = loader.start(0, 1, std::make_shared<Nowhere>());
  check_throws(ErrorCode::kIo, {"epoch 0, step 1 was not made"},
               [&] { return stream->next(kPatience); });
  CHECK(stream->done());
  CHECK(stream->close(kPatience));
}

TEST_CASE("a rank that fails ends the streams of all") {
  const auto graph = make_graph(500, 4000, 1);
  bool has_failed[kRanks] = {};
  run_ranks(graph, 2, [&](size_t rank, CooperativeLoader& loader, const auto& thread) {
    const auto stream = loader.start(0, 0, thread);
    (void)stream->next(kPatience);
    if (rank == 1) thread->submit(std::make_unique<FailingTask>());
    has_failed[rank] = error_of(*stream) == ErrorCode::kIo && stream->done();
    close(*stream);
  });
  for (const bool failed : has_failed)
    CHECK(failed);
}

TEST_CASE("a rank that cannot fetch a batch ends the streams of all") {
  const auto graph = make_graph(500, 4000, 1);
  constexpr int64_t kSeeds = 400;
  std::vector<uint8_t> holders(500);
  std::vector<int64_t> seeds(kSeeds);
  std::iota(seeds.begin(), seeds.end(), 0);
  for (size_t v = 0; v < holders.size(); ++v)
    holders[v] = static_cast<uint8_t>(v % kRanks);
  // Rank 1 is said to own nodes that are in part 0. They are never seeds, so nobody samples them.
  const auto owner = [&](int64_t v) { return v >= kSeeds && v % kRanks == 0 ? 1 : v % kRanks; };
  const auto make_loader = [&](int64_t rank) {
    LoaderOptions options = options_with(2);
    options.sample.fanouts = {{4}};
    options.inputs.front().ids = borrow(seeds);
    const auto part = part_of(*graph, owner_vector(holders), rank, kRanks);
    return CooperativeLoader(NeighborLoader(part, options),
                             {by_vector(*graph, kRanks, owner), rank});
  };
  std::optional<ErrorCode> codes[kRanks];
  run_ranks(make_loader, [&](size_t rank, CooperativeLoader& loader, const auto& thread) {
    const auto stream = loader.start(0, 0, thread);
    codes[rank] = error_of(*stream);
    close(*stream);
  });
  CHECK(codes[0] == ErrorCode::kIo);
  CHECK(codes[1] == ErrorCode::kOutOfRange);
  CHECK(codes[2] == ErrorCode::kIo);
}
