// aggregate_in_one_pass: sums over rows that memory does not hold.
//
// Edges are counted into pieces of x that fit a cache, in linear time. The pieces are then read
// once, in order and ahead, and each adds what its edges send to the results, which memory does
// hold. So a disk reads in sequence, where the order of edges would have it read at random. A piece
// that is in memory is used where it is. Within a piece edges keep the order of destinations: a row
// of results has one thread, and sources in ascending order.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "aggregation.h"
#include "base/parallel.h"
#include "nn/counting_sort.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/pages.h"
#include "storage/row_reader/piece_reader.h"

namespace ramet {
namespace {

constexpr int64_t kPieceBytes = int64_t{8} << 20;  // of x: together with its edges in the cache
constexpr int64_t kPiecesAhead = 8;                // that the kernel is to read
constexpr int64_t kEdgeBytes = int64_t{64} << 10;  // an edge is worth reading so much of a piece

// The number of the piece that a source lies in.
struct PieceOf {
  int shift = 0;
  int64_t operator()(int32_t source) const { return source >> shift; }
  [[nodiscard]] int64_t num_rows() const { return int64_t{1} << shift; }
};

int shift_of(int64_t row_bytes) {
  const auto rows = static_cast<uint64_t>(std::max<int64_t>(kPieceBytes / row_bytes, 1));
  return static_cast<int>(std::bit_width(rows)) - 1;
}

// Edges by piece of x; in a piece by destination, as they were.
struct EdgesByPiece {
  std::vector<int64_t> begins;  // of each piece, and the end
  Array sources, targets;       // int32[num_edges]; sources: rows of the piece
  Array weights;                // [num_edges, heads]
};

EdgesByPiece sort_by_piece(const BlockEdges& edges, PieceOf piece_of, const AggregateOptions& how) {
  const auto sources = edges.indices().as<int32_t>();
  const auto indptr = edges.indptr().as<int64_t>();
  const auto& pool = BufferPool::shared();
  const int64_t num_pieces =
      edges.num_src() == 0 ? 0 : ((edges.num_src() - 1) >> piece_of.shift) + 1;
  EdgesByPiece by_piece;
  by_piece.begins.resize(static_cast<size_t>(num_pieces + 1));
  by_piece.sources = pool->allocate_array(DType::kInt32, {edges.num_edges()});
  by_piece.targets = pool->allocate_array(DType::kInt32, {edges.num_edges()});
  if (how.weights != nullptr)
    by_piece.weights = pool->allocate_array(how.weights->dtype, how.weights->shape);
  auto* const to_sources = static_cast<int32_t*>(by_piece.sources.data);
  auto* const to_targets = static_cast<int32_t*>(by_piece.targets.data);
  auto* const to_weights = static_cast<char*>(by_piece.weights.data);
  const auto weight_bytes =
      how.weights == nullptr ? size_t{0} : static_cast<size_t>(how.weights->row_bytes());
  const CountingSort<int32_t, PieceOf> sort(sources, num_pieces, by_piece.begins.data(),
                                            how.threads, piece_of);
  const int64_t first_behind = piece_of.num_rows();
  sort.visit([&](auto part) {
    auto next = std::upper_bound(indptr.begin(), indptr.end(), part.begin());
    for (int64_t e = part.begin(); e < part.end(); ++e) {
      while (*next <= e)
        ++next;
      const int64_t to = part.take(e);
      to_sources[to] = sources[static_cast<size_t>(e)] & static_cast<int32_t>(first_behind - 1);
      to_targets[to] = static_cast<int32_t>(next - indptr.begin() - 1);
      if (weight_bytes > 0)
        std::memcpy(
            to_weights + static_cast<size_t>(to) * weight_bytes,
            static_cast<const char*>(how.weights->data) + static_cast<size_t>(e) * weight_bytes,
            weight_bytes);
    }
  });
  return by_piece;
}

// One pass over the pieces of x.
class Pass {
 public:
  Pass(const EdgesByPiece& edges, PieceOf piece_of, const Array& x, int64_t num_src)
      : edges_(edges), piece_of_(piece_of), x_(x), num_src_(num_src) {}

  [[nodiscard]] bool run(AggregateArgs args,
                         AggregateKernel kernel,
                         const AggregateOptions& how) const {
    PieceReader reader(x_, how.path, piece_of_.num_rows());
    args.indices = sources();
    args.weights = edges_.weights.data;
    std::atomic<bool> is_good{true};
    const int64_t num_pieces = std::ssize(edges_.begins) - 1;
    std::vector<bool> is_read(static_cast<size_t>(num_pieces));
    for (int64_t piece = -kPiecesAhead; piece < num_pieces; ++piece) {
      const int64_t ahead = piece + kPiecesAhead;
      if (ahead < num_pieces) is_read[static_cast<size_t>(ahead)] = !request(ahead, reader);
      if (piece >= 0) args.rows = x_at(first_row(piece));
      if (piece >= 0 && is_read[static_cast<size_t>(piece)]) args.rows = reader.finish();
      if (const int64_t next = piece + 1; next >= 0 && next < num_pieces)
        if (is_read[static_cast<size_t>(next)]) reader.begin(first_row(next), num_rows(next));
      if (piece < 0) continue;
      args.num_rows = num_rows(piece);
      const int64_t first = begin(piece), last = begin(piece + 1);
      const int64_t grain = std::max<int64_t>(1, kGrainBytes / x_.row_bytes());
      parallel_for(last - first, grain, how.threads, [&](int64_t from, int64_t to) {
        const int64_t from_edge = border(first + from, first, last);
        if (!add(args, kernel, from_edge, border(first + to, first, last))) is_good = false;
      });
    }
    return is_good;
  }

 private:
  static constexpr int64_t kGrainBytes = int64_t{512} << 10;

  [[nodiscard]] int64_t begin(int64_t piece) const {
    return edges_.begins[static_cast<size_t>(piece)];
  }
  [[nodiscard]] int64_t first_row(int64_t piece) const { return piece << piece_of_.shift; }
  [[nodiscard]] int64_t num_rows(int64_t piece) const {
    return std::min(piece_of_.num_rows(), num_src_ - first_row(piece));
  }
  [[nodiscard]] const char* x_at(int64_t row) const {
    return static_cast<const char*>(x_.data) + row * x_.row_bytes();
  }
  [[nodiscard]] const int32_t* sources() const {
    return static_cast<const int32_t*>(edges_.sources.data);
  }
  [[nodiscard]] const int32_t* targets() const {
    return static_cast<const int32_t*>(edges_.targets.data);
  }

  // Has the kernel read a piece; of one with few edges the rows alone. False where it is left to
  // `reader`.
  [[nodiscard]] bool request(int64_t piece, PieceReader& reader) const {
    const int64_t row_bytes = x_.row_bytes(), row = first_row(piece), count = num_rows(piece);
    const int64_t first = begin(piece), last = begin(piece + 1);
    if ((last - first) * kEdgeBytes < count * row_bytes) {
      for (int64_t e = first; e < last; ++e)
        read_ahead(x_at(row + sources()[e]), row_bytes);
      return true;
    }
    if (reader.is_for(row, count)) return false;
    read_ahead(x_at(row), count * row_bytes);
    return true;
  }

  // The first edge from `edge` on that begins a destination: only one thread adds to its row.
  [[nodiscard]] int64_t border(int64_t edge, int64_t first, int64_t last) const {
    while (edge > first && edge < last && targets()[edge] == targets()[edge - 1])
      ++edge;
    return edge;
  }

  [[nodiscard]] bool add(AggregateArgs args,
                         AggregateKernel kernel,
                         int64_t from,
                         int64_t to) const {
    std::vector<int64_t> begins;
    std::vector<int32_t> rows;
    for (int64_t e = from; e < to; ++e) {
      if (e > from && targets()[e] == targets()[e - 1]) continue;
      begins.push_back(e);
      rows.push_back(targets()[e]);
    }
    begins.push_back(to);
    args.indptr = begins.data();
    args.targets = rows.data();
    args.num_edges = to;
    return kernel(args, 0, std::ssize(rows));
  }

  const EdgesByPiece& edges_;
  PieceOf piece_of_;
  const Array& x_;
  int64_t num_src_;
};

template <typename T>
T start_of(Reduce reduce) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  return reduce == Reduce::kMax ? -kInfinity : reduce == Reduce::kMin ? kInfinity : T{0};
}

// Calls body(d, the elements of its row) for every destination.
template <typename T, typename Body>
void for_each_row(const Array& out, int threads, const Body& body) {
  constexpr int64_t kRows = 1024;
  const auto width = static_cast<size_t>(width_of(out));
  parallel_for(out.rows(), kRows, threads, [&](int64_t begin, int64_t end) {
    for (int64_t d = begin; d < end; ++d)
      body(d, std::span(static_cast<T*>(out.data) + static_cast<size_t>(d) * width, width));
  });
}

template <typename T>
void aggregate_rows(const BlockEdges& edges,
                    const Array& x,
                    const Array& out,
                    const AggregateOptions& how,
                    AggregateArgs args) {
  const PieceOf piece_of{shift_of(x.row_bytes())};
  const EdgesByPiece by_piece = sort_by_piece(edges, piece_of, how);
  for_each_row<T>(out, how.threads, [&](int64_t, std::span<T> row) {
    std::ranges::fill(row, start_of<T>(how.reduce));
  });
  const AggregateKernel kernel = adding_kernel(row_type(x, "x"), args.width / args.heads);
  if (!Pass(by_piece, piece_of, x, edges.num_src()).run(args, kernel, how))
    throw_invalid("edges were written to during an aggregation");
  const auto indptr = edges.indptr().as<int64_t>();
  for_each_row<T>(out, how.threads, [&](int64_t d, std::span<T> row) {
    const int64_t count = indptr[static_cast<size_t>(d) + 1] - indptr[static_cast<size_t>(d)];
    if (count == 0) std::ranges::fill(row, T{0});
    if (count == 0 || how.reduce != Reduce::kMean) return;
    for (T& sum : row)
      sum /= static_cast<T>(count);
  });
}

}  // namespace

void aggregate_in_one_pass(const BlockEdges& edges,
                           const Array& x,
                           const Array& out,
                           const AggregateOptions& options) {
  if (x.dtype != DType::kFloat32 && x.dtype != DType::kFloat64)
    throw_invalid("x is ", x.describe(), ", expected float32 or float64");
  check_rows(x, "x", edges.num_src(), out, edges.num_dst());
  const int64_t heads = heads_of(options, x, edges.num_edges());
  if (width_of(x) == 0 || out.rows() == 0) return;
  edges.check();
  const bool is_mean = options.reduce == Reduce::kMean;  // whose sums are divided afterwards
  const AggregateArgs args{.rows = x.data,
                           .num_rows = edges.num_src(),
                           .width = width_of(x),
                           .heads = heads,
                           .reduction = is_mean ? Reduction::kSum : reduction_of(options.reduce),
                           .out = out.data};
  if (x.dtype == DType::kFloat64)
    aggregate_rows<double>(edges, x, out, options, args);
  else
    aggregate_rows<float>(edges, x, out, options, args);
}

}  // namespace ramet
