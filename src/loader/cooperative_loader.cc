#include "ramet/cooperative_loader.h"

#include <string>
#include <utility>

#include "batch_rows.h"
#include "clock.h"
#include "ramet/error.h"
#include "sampling/cooperative_sampler.h"
#include "tally.h"

namespace ramet {

CooperativeLoader::CooperativeLoader(NeighborLoader loader,
                                     Membership membership,
                                     int threads,
                                     int64_t cache_rows)
    : loader_(std::move(loader)),
      membership_(std::move(membership)),
      sampler_(std::make_unique<CooperativeSampler>(
          loader_.graph(), loader_.options().sample, membership_, loader_.pool(), threads)) {
  constexpr int64_t kMostRows = int64_t{1} << 31;
  if (cache_rows < 0 || cache_rows >= kMostRows)
    throw Error(ErrorCode::kInvalidArgument, "cache_rows is " + std::to_string(cache_rows) +
                                                 ", expected 0 to " +
                                                 std::to_string(kMostRows - 1));
  sources_ = host_sources(*loader_.graph(), loader_.options(), cache_rows);
}

CooperativeLoader::~CooperativeLoader() = default;

std::optional<Message> CooperativeLoader::start(int64_t epoch, int64_t step) {
  const auto begin = Clock::now();
  const LoaderOptions& options = loader_.options();
  if (epoch < 0 || step < 0 || step >= loader_.num_steps())
    throw Error(ErrorCode::kOutOfRange, "epoch " + std::to_string(epoch) + ", step " +
                                            std::to_string(step) + " is none of the " +
                                            std::to_string(loader_.num_steps()) + " of an epoch");
  batch_ = {};
  batch_.epoch = epoch;
  batch_.step = step;
  batch_.global_num_seeds = loader_.global_num_seeds(step);
  const Ownership& owners = membership_.owners[static_cast<size_t>(options.seed_type)];
  std::vector<int64_t> seeds = loader_.seeds(epoch, step);
  std::erase_if(seeds, [&](int64_t seed) { return owners.owner(seed) != membership_.rank; });
  auto message = sampler_->start(options.seed_type, seeds, static_cast<uint64_t>(epoch),
                                 static_cast<uint64_t>(step));
  batch_.timings.sample_seconds = seconds_since(begin);
  return message;
}

std::optional<Message> CooperativeLoader::receive(const Message& from_ranks) {
  const auto begin = Clock::now();
  auto message = sampler_->receive(from_ranks);
  batch_.timings.sample_seconds += seconds_since(begin);
  return message;
}

Batch CooperativeLoader::finish() {
  const auto begin = Clock::now();
  batch_.minibatch = sampler_->take();
  gather_tables(*loader_.graph(), loader_.options().tables, sources_, {.pool = loader_.pool()},
                nullptr, batch_);
  batch_.timings.gather_seconds = seconds_since(begin);
  return std::move(batch_);
}

void CooperativeLoader::count(Batch& batch, double wait_seconds, bool first) const {
  batch.timings.wait_seconds = wait_seconds;
  loader_.tally().add_batch(batch, 1, first);
}

}  // namespace ramet
