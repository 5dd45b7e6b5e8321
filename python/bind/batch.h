// A loader's Batch as Python holds it: with the graph it came from.
#pragma once

#include <memory>

#include "ramet/graph.h"
#include "ramet/loader.h"

namespace ramet::bind {

struct PyBatch {
  Batch batch;
  std::shared_ptr<const Graph> graph;
};

}  // namespace ramet::bind
