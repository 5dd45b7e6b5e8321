// Updates of one row by an optimizer: what a step does to each row that has a gradient.
//
// Every element is computed by +, -, *, / and sqrt alone, each rounded as IEEE 754 says, so that
// all instruction sets give the same bits; docs/semantics.md, section 19.
#pragma once

#include <cstdint>

namespace ramet {

enum class UpdateRule : uint8_t { kSgd, kAdaGrad, kRowwiseAdaGrad, kRmsProp, kAdam };

struct RowUpdate {
  int64_t width = 0;
  float* weight = nullptr;   // `width` values, as all that follow, but for
  float* moment1 = nullptr;  // Adam's first moment
  float* moment2 = nullptr;  // the squares: Adam's second moment, RMSProp's average, AdaGrad's sum,
                             // which has one value with kRowwiseAdaGrad
  const float* gradient = nullptr;

  float rate = 0;          // that the step is multiplied by
  float weight_decay = 0;  // of the weight, that is added to the gradient
  float keep = 1;          // that Adam multiplies the weight by first
  float blend1 = 0;        // of the gradient in moment1
  float blend2 = 0;        // of its square in moment2
  float root_scale = 1;    // that Adam multiplies the root of moment2 by
  float eps = 0;
};

struct UpdateKernels {
  void (*update)(UpdateRule rule, const RowUpdate& row);
  // to[i] += values[i]
  void (*add)(float* to, const float* values, int64_t width);
};

[[nodiscard]] UpdateKernels update_portable();

}  // namespace ramet
