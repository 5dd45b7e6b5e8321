// A loader and its streams as Python holds them.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "batch.h"
#include "gil.h"
#include "ramet/loader.h"

namespace ramet::bind {

using BoundLoader = DiesWithoutGil<NeighborLoader>;

class PyStream {
 public:
  PyStream(std::unique_ptr<EpochStream> stream,
           std::shared_ptr<const Graph> graph,
           std::shared_ptr<const CudaGraph> cuda_graph = nullptr,
           std::shared_ptr<DevicePool> pool = nullptr)
      : stream_(std::move(stream)),
        graph_(std::move(graph)),
        cuda_graph_(std::move(cuda_graph)),
        pool_(std::move(pool)) {}
  PyStream(PyStream&&) = default;
  PyStream& operator=(PyStream&&) = default;
  ~PyStream() {
    if (!stream_) return;
    const GilRelease release;  // the threads finish what they are at
    stream_.reset();
  }

  // The next batch, or None at the end of the epoch.
  nb::object next() {
    for (;;) {
      std::optional<Batch> batch;
      bool is_done = false;
      {
        const GilRelease release;
        batch = stream_->next(kPoll);
        is_done = !batch && stream_->done();
      }
      if (batch) return nb::cast(PyBatch{std::move(*batch), graph_, cuda_graph_, pool_});
      if (is_done) return nb::none();
      check_signals();
    }
  }

  void close() {
    for (bool is_closed = false; !is_closed; check_signals()) {
      const GilRelease release;
      is_closed = stream_->close(kPoll);
    }
  }

 private:
  // How often a wait looks for Ctrl-C.
  static constexpr std::chrono::milliseconds kPoll{50};

  static void check_signals() {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }

  std::unique_ptr<EpochStream> stream_;
  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const CudaGraph> cuda_graph_;
  std::shared_ptr<DevicePool> pool_;
};

}  // namespace ramet::bind
