// A loader's Batch as Python holds it: with the graph it came from.
#pragma once

#include <memory>

#include "ramet/cuda_memory.h"
#include "ramet/cuda_sampler.h"
#include "ramet/graph.h"
#include "ramet/loader.h"

namespace ramet::bind {

struct PyBatch {
  Batch batch;
  std::shared_ptr<const Graph> graph;
  // Of a batch of a device.
  std::shared_ptr<const CudaGraph> cuda_graph = nullptr;  // nullptr, too, where processors sampled
  std::shared_ptr<DevicePool> pool = nullptr;
};

}  // namespace ramet::bind
