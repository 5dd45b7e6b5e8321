// Edges and rows that tests of aggregations share.
#pragma once

#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/narrow.h"
#include "ramet/block_edges.h"
#include "ramet/random.h"
#include "support/slow_build.h"

namespace ramet {

struct Edges {
  std::vector<int64_t> indptr{0};
  std::vector<int32_t> indices;
  int64_t num_src;

  // Destination d has degree(d) edges from random sources.
  template <typename Degree>
  Edges(int64_t num_dst, int64_t sources, Degree degree) : num_src(sources) {
    for (int64_t d = 0; d < num_dst; ++d) {
      for (int64_t i = 0; i < degree(d); ++i)
        indices.push_back(static_cast<int32_t>(uniform_below(
            mix64(static_cast<uint64_t>(d * 1000 + i)), static_cast<uint64_t>(num_src))));
      indptr.push_back(std::ssize(indices));
    }
  }

  [[nodiscard]] BlockEdges block() const { return {borrow(indptr), borrow(indices), num_src}; }
  [[nodiscard]] int64_t num_dst() const { return std::ssize(indptr) - 1; }
  [[nodiscard]] int64_t num_edges() const { return std::ssize(indices); }

  // body(d, e, s) in order
  template <typename Body>
  void visit(const Body& body) const {
    for (int64_t d = 0; d < num_dst(); ++d)
      for (int64_t e = indptr[size_t(d)]; e < indptr[size_t(d) + 1]; ++e)
        body(d, e, int64_t{indices[size_t(e)]});
  }
};

inline constexpr int64_t kHubEdges = test::kSlowBuild ? 600 : 5000;

inline std::vector<Edges> all_edges() {
  std::vector<Edges> all;
  all.emplace_back(200, 300, [](int64_t d) { return d % 12; });
  all.emplace_back(40, 7, [](int64_t d) { return d == 3 ? kHubEdges : d % 2; });  // hubs, both ways
  all.emplace_back(30, 50, [](int64_t) { return 0; });
  all.emplace_back(0, 5, [](int64_t) { return 0; });
  all.emplace_back(0, 0, [](int64_t) { return 0; });
  return all;
}

// Rows as numbers, and as an Array of a dtype that holds them exactly.
struct Rows {
  std::vector<double> values;
  std::vector<std::byte> bytes;
  Array array;

  Rows(DType dtype, std::vector<int64_t> shape, uint64_t key = 0) {
    array = {nullptr, dtype, std::move(shape), nullptr, true};
    bytes.resize(static_cast<size_t>(array.bytes()) + 1);
    array.data = bytes.data();
    const int64_t count = array.bytes() / item_size(dtype);
    for (int64_t i = 0; i < count; ++i) {
      // Eighths, so that a half holds them, but sums of products round.
      const auto word = static_cast<int64_t>(absorb(key, static_cast<uint64_t>(i)) % 1021);
      set(i, static_cast<double>(word - 510) / (dtype == DType::kBFloat16 ? 512 : 300));
    }
    read();
  }

  void set(int64_t i, double value) {
    if (array.dtype == DType::kFloat64)
      std::memcpy(bytes.data() + i * 8, &value, 8);
    else {
      const auto single = static_cast<float>(value);
      narrow_row(&single, 1, array.dtype, bytes.data() + i * item_size(array.dtype));
    }
  }

  void read() {
    values.resize(static_cast<size_t>(array.bytes() / item_size(array.dtype)));
    for (size_t i = 0; i < values.size(); ++i) {
      if (array.dtype == DType::kFloat64) {
        std::memcpy(&values[i], bytes.data() + i * 8, 8);
        continue;
      }
      float single;
      widen_row(bytes.data() + i * static_cast<size_t>(item_size(array.dtype)), 1, array.dtype,
                &single);
      values[i] = single;
    }
  }
};

template <typename Body>
void for_each_case(const Body& body) {
  for (const Edges& edges : all_edges()) {
    for (const DType dtype :
         {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kFloat16}) {
      for (const auto& [width, heads] : {std::pair{1, 1},
                                         {3, 1},
                                         {7, 7},
                                         {8, 1},
                                         {12, 3},
                                         {64, 4},
                                         {100, 1},
                                         {128, 1},
                                         {144, 2},
                                         {0, 1}})
        body(edges, dtype, int64_t{width}, int64_t{heads});
    }
  }
}

}  // namespace ramet
