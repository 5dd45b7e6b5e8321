// Grouped by row (base/row_groups.h), a step is one pass over weight, state and gradient, and its
// time is that of their memory. Rows to come are requested ahead.
#include "ramet/optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/listed_rows.h"
#include "base/narrow.h"
#include "base/row_groups.h"
#include "device/device_memory.h"
#include "kernels/adam_rates.h"
#include "kernels/cpu/isa_kernels.h"
#include "kernels/cuda_backend.h"
#include "ramet/error.h"
#include "ramet/random.h"
#include "tables/device/named_rows.h"

namespace ramet {
namespace {

constexpr size_t kAhead = 4;  // rows
constexpr int64_t kLineOfCache = 64;

UpdateRule rule_of(const Optimizer& optimizer) {
  if (const auto* ada = std::get_if<AdaGrad>(&optimizer))
    return ada->rowwise ? UpdateRule::kRowwiseAdaGrad : UpdateRule::kAdaGrad;
  if (std::holds_alternative<RmsProp>(optimizer)) return UpdateRule::kRmsProp;
  return std::holds_alternative<Adam>(optimizer) ? UpdateRule::kAdam : UpdateRule::kSgd;
}

AdamOptions options_of(const Adam& adam) {
  return {adam.learning_rate, adam.beta1, adam.beta2, adam.steps == Steps::kRow};
}

void set_step(const Adam& adam, int64_t number, RowUpdate& row) {
  const AdamRates rates = adam_rates(options_of(adam), number);
  row.rate = rates.rate;
  row.root_scale = rates.root_scale;
}

// What is the same for all rows.
RowUpdate constants_of(const OptimizerStep& step, int64_t width) {
  RowUpdate row{.width = width};
  std::visit(
      [&](const auto& optimizer) {
        using Kind = std::decay_t<decltype(optimizer)>;
        row.rate = static_cast<float>(optimizer.learning_rate);
        row.weight_decay = static_cast<float>(optimizer.weight_decay);
        if constexpr (!std::is_same_v<Kind, Sgd>) row.eps = static_cast<float>(optimizer.eps);
        if constexpr (std::is_same_v<Kind, RmsProp>)
          row.blend2 = static_cast<float>(1 - optimizer.alpha);
        if constexpr (std::is_same_v<Kind, Adam>) {
          if (optimizer.decoupled) {
            row.keep = static_cast<float>(1 - optimizer.learning_rate * optimizer.weight_decay);
            row.weight_decay = 0;
          }
          row.blend1 = static_cast<float>(1 - optimizer.beta1);
          row.blend2 = static_cast<float>(1 - optimizer.beta2);
          set_step(optimizer, step.number, row);
        }
      },
      step.optimizer);
  return row;
}

void check_rate(double rate, const char* name) {
  if (!(rate >= 0 && std::isfinite(rate)))
    throw_invalid(name, " is ", rate, ", expected at least 0 and finite");
}

void check_part(double part, const char* name) {
  if (!(part >= 0 && part < 1)) throw_invalid(name, " is ", part, ", expected in [0, 1)");
}

void check_options(const OptimizerStep& step) {
  std::visit(
      [](const auto& optimizer) {
        using Kind = std::decay_t<decltype(optimizer)>;
        check_rate(optimizer.learning_rate, "lr");
        check_rate(optimizer.weight_decay, "weight_decay");
        if constexpr (!std::is_same_v<Kind, Sgd>) check_rate(optimizer.eps, "eps");
        if constexpr (std::is_same_v<Kind, RmsProp>) check_part(optimizer.alpha, "alpha");
        if constexpr (std::is_same_v<Kind, Adam>) {
          check_part(optimizer.beta1, "betas[0]");
          check_part(optimizer.beta2, "betas[1]");
        }
      },
      step.optimizer);
  if (step.number < 1) throw_invalid("step ", step.number, ", steps count from 1");
  if (!(step.divisor > 0)) throw_invalid("divisor is ", step.divisor, ", expected above 0");
}

void check_weights(const Array& weights) {
  const bool can_learn = weights.dtype == DType::kFloat32 || weights.dtype == DType::kFloat16 ||
                         weights.dtype == DType::kBFloat16;
  if (!can_learn)
    throw_invalid("weights are ", weights.describe(), ", expected float32, float16 or bfloat16");
  if (!weights.writable) throw_invalid("weights are read-only");
}

void check_state(const OptimizerStep& step, const Array& weights, std::span<const Array> state) {
  const std::vector<StateForm> forms = state_of(step.optimizer);
  if (state.size() != forms.size())
    throw_invalid("state of ", state.size(), " arrays, expected ", forms.size());
  for (size_t i = 0; i < forms.size(); ++i) {
    Array expected = weights;
    expected.dtype = forms[i].dtype;
    if (forms[i].per_row) expected.shape = {weights.rows()};
    if (state[i].dtype == expected.dtype && state[i].shape == expected.shape && state[i].writable &&
        state[i].device == weights.device)
      continue;
    throw_invalid("state '", forms[i].name, "' is ", state[i].describe(), ", expected writable ",
                  expected.describe());
  }
}

void check_gradients(const Array& weights, std::span<const RowList> lists) {
  for (const auto& [ids, gradients] : lists) {
    Array expected = weights;
    expected.dtype = DType::kFloat32;
    expected.shape[0] = std::ssize(ids);
    const bool is_near = gradients.device == kHost || gradients.device == weights.device;
    if (gradients.dtype == expected.dtype && gradients.shape == expected.shape && is_near) continue;
    throw_invalid("gradients are ", gradients.describe(), ", expected ", expected.describe());
  }
}

void check_row_ids(const Array& ids, int64_t begin, int64_t end) {
  if (ids.shape.empty() || (ids.dtype == DType::kInt64 && ids.shape == std::vector{end - begin}))
    return;
  throw_invalid("row_ids are ", ids.describe(), ", expected int64[", end - begin, "]");
}

void check_step(const OptimizerStep& step,
                const Array& weights,
                std::span<const Array> state,
                NodeRange own) {
  check_options(step);
  check_weights(weights);
  check_state(step, weights, state);
  if (own.begin < 0 || own.begin > own.end || own.end > weights.rows())
    throw_invalid("rows [", own.begin, ", ", own.end, ") of ", weights.rows());
  check_row_ids(step.row_ids, own.begin, own.end);
}

void request(const void* row, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += kLineOfCache)
    __builtin_prefetch(static_cast<const char*>(row) + at, 1, 3);
}

// The arrays of a step's state, by what they are.
struct StateArrays {
  float* moment1 = nullptr;
  float* moment2 = nullptr;
  int32_t* steps = nullptr;
};

StateArrays state_arrays(const OptimizerStep& step, std::span<const Array> state) {
  StateArrays arrays;
  const std::vector<StateForm> forms = state_of(step.optimizer);
  for (size_t i = 0; i < forms.size(); ++i) {
    if (forms[i].dtype == DType::kInt32)
      arrays.steps = static_cast<int32_t*>(state[i].data);
    else if (forms[i].name == "moment1")
      arrays.moment1 = static_cast<float*>(state[i].data);
    else
      arrays.moment2 = static_cast<float*>(state[i].data);
  }
  return arrays;
}

uint64_t rounding_key(const OptimizerStep& step) {
  return absorb(absorb(static_cast<uint64_t>(Domain::kRounding), step.seed),
                static_cast<uint64_t>(step.number));
}

// One step over the rows of a bucket.
class Update {
 public:
  Update(const OptimizerStep& step,
         const Array& weights,
         std::span<const Array> state,
         const ListedRows& gradients,
         int64_t begin)
      : step_(step),
        weights_(weights),
        gradients_(gradients),
        rule_(rule_of(step.optimizer)),
        kernels_(best_kernels().update),
        width_(weights.row_bytes() / item_size(weights.dtype)),
        constants_(constants_of(step, width_)),
        rounding_key_(rounding_key(step)) {
    if (step.row_ids.rows() > 0) ids_ = step.row_ids.as<int64_t>().data() - begin;
    const StateArrays arrays = state_arrays(step, state);
    moment1_ = arrays.moment1;
    moment2_ = arrays.moment2;
    steps_ = arrays.steps;
  }

  void operator()(const RowBucket& bucket) const {
    std::vector<float> sum(static_cast<size_t>(width_)), wide(sum.size());
    const size_t entries = bucket.entries.size();
    for (size_t first = 0, last; first < entries; first = last) {
      if (first + kAhead < entries) request_row(bucket, first + kAhead);
      last = bucket.end_of_row(first);
      apply(bucket.row(first), sum_of(bucket, first, last, sum.data()), wide.data());
    }
  }

 private:
  void request_row(const RowBucket& bucket, size_t entry) const {
    const int64_t row = bucket.row(entry), bytes = width_ * int64_t{sizeof(float)};
    request(static_cast<const char*>(weights_.data) + row * weights_.row_bytes(),
            weights_.row_bytes());
    request(gradient(bucket, entry), bytes);
    if (moment1_ != nullptr) request(moment1_ + row * width_, bytes);
    if (moment2_ != nullptr)
      request(moment2_of(row), rule_ == UpdateRule::kRowwiseAdaGrad ? 1 : bytes);
    if (steps_ != nullptr) request(steps_ + row, 1);
  }

  [[nodiscard]] float* moment2_of(int64_t row) const {
    return moment2_ + (rule_ == UpdateRule::kRowwiseAdaGrad ? row : row * width_);
  }

  [[nodiscard]] const float* gradient(const RowBucket& bucket, size_t entry) const {
    return static_cast<const float*>(gradients_[bucket.position(entry)].data);
  }

  // Of the gradients at entries [first, last), in order.
  const float* sum_of(const RowBucket& bucket, size_t first, size_t last, float* sum) const {
    const float* only = gradient(bucket, first);
    if (last - first == 1 && step_.divisor == 1) return only;
    std::copy_n(only, width_, sum);
    for (size_t i = first + 1; i < last; ++i)
      kernels_.add(sum, gradient(bucket, i), width_);
    if (step_.divisor != 1) {
      const auto divisor = static_cast<float>(step_.divisor);
      for (int64_t i = 0; i < width_; ++i)
        sum[i] /= divisor;
    }
    return sum;
  }

  void apply(int64_t row, const float* gradient, float* wide) const {
    RowUpdate update = constants_;
    update.gradient = gradient;
    update.moment1 = moment1_ == nullptr ? nullptr : moment1_ + row * width_;
    update.moment2 = moment2_ == nullptr ? nullptr : moment2_of(row);
    if (steps_ != nullptr) {
      steps_[row] += steps_[row] < std::numeric_limits<int32_t>::max() ? 1 : 0;
      set_step(std::get<Adam>(step_.optimizer), steps_[row], update);
    }
    void* weight = static_cast<char*>(weights_.data) + row * weights_.row_bytes();
    if (weights_.dtype == DType::kFloat32) {
      update.weight = static_cast<float*>(weight);
      return kernels_.update(rule_, update);
    }
    update.weight = wide;
    widen_row(weight, width_, weights_.dtype, wide);
    kernels_.update(rule_, update);
    narrow_row(wide, width_, weights_.dtype, weight,
               step_.stochastic ? Rounding::kStochastic : Rounding::kNearest,
               absorb(rounding_key_, static_cast<uint64_t>(ids_ == nullptr ? row : ids_[row])));
  }

  const OptimizerStep& step_;
  const Array& weights_;
  const ListedRows& gradients_;
  UpdateRule rule_;
  UpdateKernels kernels_;
  int64_t width_;
  RowUpdate constants_;
  uint64_t rounding_key_;
  const int64_t* ids_ = nullptr;  // by row
  float* moment1_ = nullptr;
  float* moment2_ = nullptr;
  int32_t* steps_ = nullptr;
};

// The same by a kernel, complete when it returns.
void update_on_device(const OptimizerStep& step,
                      const Array& weights,
                      std::span<const Array> state,
                      const NamedRows& gradients,
                      int64_t begin) {
  const int device = weights.device;
  const CudaBackend& cuda = require_cuda();
  const StateArrays arrays = state_arrays(step, state);
  const int64_t width = weights.row_bytes() / item_size(weights.dtype);
  std::shared_ptr<void> row_ids;
  if (step.row_ids.rows() > 0) row_ids = copy_on(device, step.row_ids.data, step.row_ids.bytes());
  CudaUpdateArgs args{
      .weights = {weights.data, weights.dtype, width, gradients.view()},
      .rule = rule_of(step.optimizer),
      .constants = constants_of(step, width),
      .moment1 = arrays.moment1,
      .moment2 = arrays.moment2,
      .steps = arrays.steps,
      .adam = {},
      .divisor = static_cast<float>(step.divisor),
      .stochastic = step.stochastic,
      .rounding_key = rounding_key(step),
      .row_ids = static_cast<const int64_t*>(row_ids.get()),
      .first_row = begin,
  };
  if (const auto* adam = std::get_if<Adam>(&step.optimizer)) args.adam = options_of(*adam);
  cuda.named_rows.update(device, args, nullptr);
  cuda.runtime.synchronize(device, nullptr);
}

}  // namespace

std::vector<StateForm> state_of(const Optimizer& optimizer) {
  if (const auto* ada = std::get_if<AdaGrad>(&optimizer))
    return {{"moment2", DType::kFloat32, ada->rowwise}};
  if (std::holds_alternative<RmsProp>(optimizer)) return {{"moment2", DType::kFloat32, false}};
  const auto* adam = std::get_if<Adam>(&optimizer);
  if (adam == nullptr) return {};
  std::vector<StateForm> forms = {{"moment1", DType::kFloat32, false},
                                  {"moment2", DType::kFloat32, false}};
  if (adam->steps == Steps::kRow) forms.push_back({"steps", DType::kInt32, true});
  return forms;
}

void apply_gradients(const OptimizerStep& step,
                     const Array& weights,
                     std::span<const Array> state,
                     std::span<const RowList> gradients,
                     int64_t begin,
                     int64_t end,
                     int threads) {
  check_step(step, weights, state, {begin, end});
  check_gradients(weights, gradients);
  if (weights.device != kHost) {
    const NamedRows named(gradients, weights.rows(), {begin, end}, weights.device, threads);
    return update_on_device(step, weights, state, named, begin);
  }
  RowGroups groups(gradients, weights.rows(), begin, end);
  const ListedRows rows(gradients);
  groups.visit(threads, Update(step, weights, state, rows, begin));
}

void apply_sorted_gradients(const OptimizerStep& step,
                            const Array& weights,
                            std::span<const Array> state,
                            const SortedLists& gradients,
                            int64_t begin,
                            int64_t end) {
  check_step(step, weights, state, {begin, end});
  if (weights.device == kHost) throw_invalid("the weights lie on the host, expected a device");
  RowForm form = Table(weights).form(false);
  form.dtype = DType::kFloat32;
  update_on_device(step, weights, state, NamedRows(gradients, form, weights.device), begin);
}

}  // namespace ramet
