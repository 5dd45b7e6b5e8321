// A stream captured into a graph for a scope, as torch.cuda.graph does.
#pragma once

#include "ramet/cuda.h"

namespace ramet::test {

class Capture {
 public:
  // No call of any thread may be unsafe for the graph, but where the thread is relaxed.
  explicit Capture(CudaStreamHandle stream);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // Whether a graph came of it.
  bool end();

 private:
  CudaStreamHandle stream_;
  bool is_open_ = true;
};

}  // namespace ramet::test
