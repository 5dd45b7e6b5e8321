// RelationSampler: samples one edge type of one hop on the CPU. The seam for methods: methods.h
// chooses one for a sampler, and HopSampler calls it for every edge type.
//
// Samplers may be called for any hop of any batch, by one thread at a time. They keep scratch
// memory, and nothing that a result depends on, between calls. A call that throws leaves no trace
// but new nodes in the task's index, so the batch must begin anew.
#pragma once

#include "base/draw_keys.h"
#include "importance.h"
#include "ramet/sampler.h"
#include "relation_builder.h"

namespace ramet {

template <typename Id>
class RelationSampler {
 public:
  virtual ~RelationSampler() = default;

  // `keys`: what the relation draws its words from (relation_keys.h).
  [[nodiscard]] virtual Relation sample(const RelationTask<Id>& task, const DrawKeys& keys) = 0;

  // What has to be known of all relations of a hop before the first is sampled: it is to be
  // started, and iterated. nullptr where the row of a destination decides alone.
  [[nodiscard]] virtual HopImportance<Id>* importance() { return nullptr; }
};

}  // namespace ramet
