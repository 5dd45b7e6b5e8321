// PrefetchSink: gets rows ready that batches will use: they are announced before.
//
// What is announced is advice: a batch that never comes, or another than was announced, is no
// error.
#pragma once

#include "ramet/array.h"

namespace ramet {

class PrefetchSink {
 public:
  PrefetchSink() = default;
  PrefetchSink(const PrefetchSink&) = delete;
  PrefetchSink& operator=(const PrefetchSink&) = delete;
  virtual ~PrefetchSink() = default;

  // The row ids of a batch, int64 [n], those of earlier steps first. One thread calls it, while any
  // others use the rows. The ids are read here. kOutOfRange for an id beyond the rows;
  // kInvalidArgument in a process forked since.
  virtual void announce(const Array& ids) = 0;
  // Of the announced batches those that are not used yet will not come. Throws nothing.
  virtual void forget() = 0;
};

}  // namespace ramet
