// Sparse optimizers: a step for the rows of a table that have a gradient. Weights and state of
// other rows do not change.
//
// The gradients of a row are summed in the order of the list, and applied once. The bits do not
// depend on threads or vector instructions. docs/semantics.md, section 19.
//
// Memory: the caller's. Threads and forks: any; no two calls at once on the same rows.
// Failure: kOutOfRange for a row outside the table; kInvalidArgument for arrays and options that do
// not fit. Nothing is changed then.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ramet/array.h"
#include "ramet/row_list.h"

namespace ramet {

// `weight_decay`, for every method: times the weight, is added to the gradient.
struct Sgd {
  double learning_rate;
  double weight_decay = 0;
};

// Duchi, Hazan, Singer: "Adaptive subgradient methods", 2011. `rowwise`: one sum for a row, of the
// mean square of its gradient.
struct AdaGrad {
  double learning_rate;
  double eps = 1e-10, weight_decay = 0;
  bool rowwise = false;
};

// Hinton's lecture 6e of "Neural networks for machine learning", 2012.
struct RmsProp {
  double learning_rate;
  double alpha = 0.99, eps = 1e-8, weight_decay = 0;
};

// Which steps count in Adam's correction of bias.
enum class Steps : uint8_t {
  kRow,  // those in which the row had a gradient
  kAll,  // all
};

// Kingma, Ba: "Adam: a method for stochastic optimization", 2015. `decoupled`: weight_decay is no
// part of the gradient; instead, the weight is multiplied by 1 - learning_rate * weight_decay
// first. Loshchilov, Hutter: "Decoupled weight decay regularization", 2019.
struct Adam {
  double learning_rate;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  Steps steps = Steps::kRow;
  bool decoupled = false;
};

using Optimizer = std::variant<Sgd, AdaGrad, RmsProp, Adam>;

// An array of an optimizer's state: float32, or int32 for counts.
struct StateForm {
  std::string name;
  DType dtype;
  bool per_row;  // of shape [rows]; else of the weights' shape
};
[[nodiscard]] std::vector<StateForm> state_of(const Optimizer& optimizer);

struct OptimizerStep {
  Optimizer optimizer;
  int64_t number = 1;       // of this step, from 1
  double divisor = 1;       // of the sum of a row's gradients
  bool stochastic = false;  // rounds narrow weights to either neighbor, else to the nearest
  uint64_t seed = 0;        // of that, as is the row's id:
  Array row_ids = {};       // int64[end - begin], the ids of rows begin, ...; none: their numbers
};

// Applies `gradients` (float32), list after list, to the rows [begin, end) of `weights` (float32,
// float16 or bfloat16, writable) and to their state, in the order of state_of(). Gradients of other
// rows are ignored. If the weights are on a device, so is the state, and gradients may be; the step
// is then complete when this returns.
void apply_gradients(const OptimizerStep& step,
                     const Array& weights,
                     std::span<const Array> state,
                     std::span<const RowList> gradients,
                     int64_t begin,
                     int64_t end,
                     int threads = 1);

// The same for weights on a device, with gradients that are sorted there, of rows [begin, end).
void apply_sorted_gradients(const OptimizerStep& step,
                            const Array& weights,
                            std::span<const Array> state,
                            const SortedLists& gradients,
                            int64_t begin,
                            int64_t end);

class RecordTable;

// The same for rows of a table on a disk, whose columns are the weights and state_of(). The bits
// are those of weights in memory. `step.row_ids` is ignored. Afterwards records.last_step() is this
// one.
void apply_gradients(const OptimizerStep& step,
                     RecordTable& records,
                     std::span<const RowList> gradients,
                     int threads = 1);

}  // namespace ramet
