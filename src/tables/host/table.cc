#include "ramet/table.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/parallel.h"
#include "base/scale.h"
#include "gather_rows.h"
#include "kernels/kernels.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "tables/device/staged.h"

namespace ramet {
namespace {

// Enough bytes per chunk to hide the cost of handing a chunk to a thread.
constexpr int64_t kChunkBytes = 256 << 10;
// Of rows on their way to bfloat16: they stay in a core's own cache.
constexpr int64_t kNarrowedFloats = 32 << 10;

StridedRows dense(const Array& rows) {
  return {rows.data, rows.dtype, rows.shape, rows.row_bytes()};
}

// Runs kernel(args) for chunks of the ids, each with its part of the output.
template <typename Kernel>
void gather_chunks(const StridedRows& rows,
                   const std::string& name,
                   int64_t count,
                   const RowsOfIds& rows_of,
                   void* out,
                   int64_t out_row_bytes,
                   int threads,
                   Kernel kernel) {
  const int64_t num_rows = rows.shape[0];
  const int64_t grain = out_row_bytes > 0 ? kChunkBytes / out_row_bytes + 1 : kChunkBytes;
  const int64_t output_bytes = count * out_row_bytes;
  parallel_for(count, grain, threads, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> buffer;
    const int64_t* ids = rows_of(begin, end, buffer);
    const int64_t bad = kernel(GatherArgs{.table = rows.data,
                                          .num_rows = num_rows,
                                          .row_bytes = rows.row_bytes(),
                                          .row_stride = rows.stride,
                                          .ids = ids,
                                          .num_ids = end - begin,
                                          .out = static_cast<char*>(out) + begin * out_row_bytes,
                                          .output_bytes = output_bytes});
    if (bad < 0) return;
    throw_error(ErrorCode::kOutOfRange, "ids[", begin + bad, "] = ", ids[bad], " is outside the ",
                num_rows, " rows of ", name);
  });
}

// What gathers rows of `table` as float32; kInvalidArgument where nothing does.
std::function<int64_t(const GatherArgs&)> float32_kernel(const Table& table) {
  if (table.rows().dtype == DType::kFloat32) return cpu_kernels()->gather_rows;
  return [encoding = table.encoding(),
          scale = static_cast<const float*>(table.scale().data)](const GatherArgs& rows) {
    return cpu_kernels()->gather_decoded({.rows = rows, .encoding = encoding, .scale = scale});
  };
}

// Gathers a few rows of `width` floats at a time, which are in the cache when they are rounded.
int64_t gather_narrowed(const std::function<int64_t(const GatherArgs&)>& gather_float32,
                        const GatherArgs& args,
                        int64_t width) {
  const int64_t step = std::max<int64_t>(kNarrowedFloats / std::max<int64_t>(width, 1), 1);
  std::vector<float> rows(static_cast<size_t>(std::min(step, args.num_ids) * width));
  for (int64_t first = 0; first < args.num_ids; first += step) {
    GatherArgs some = args;
    some.ids += first;
    some.num_ids = std::min(step, args.num_ids - first);
    some.out = rows.data();
    some.output_bytes = 0;
    const int64_t bad = gather_float32(some);
    if (bad >= 0) return first + bad;
    cpu_kernels()->narrow(rows.data(), some.num_ids * width,
                          static_cast<uint16_t*>(args.out) + first * width);
  }
  return -1;
}

RowsOfIds ids_are_rows(std::span<const int64_t> ids) {
  return [ids](int64_t begin, int64_t, std::vector<int64_t>&) { return ids.data() + begin; };
}

}  // namespace

void gather_rows(
    const Table& table, int64_t count, const RowsOfIds& rows_of, void* out, int threads) {
  if (table.rows().device != kHost) return gather_staged(table, count, rows_of, out, false);
  gather_chunks(dense(table.rows()), table.name(), count, rows_of, out, table.rows().row_bytes(),
                threads, cpu_kernels()->gather_rows);
}

void gather_rows_float32(
    const Table& table, int64_t count, const RowsOfIds& rows_of, float* out, int threads) {
  if (table.rows().device != kHost) return gather_staged(table, count, rows_of, out, true);
  gather_chunks(dense(table.rows()), table.name(), count, rows_of, out,
                table.form(true).row_bytes(), threads, float32_kernel(table));
}

Table::Table(Array rows, Array scale, std::string name)
    : rows_(std::move(rows)), scale_(std::move(scale)), name_(std::move(name)) {
  if (!has_scale()) return;
  const std::string problem = scale_problem(rows_, scale_);
  if (!problem.empty()) throw_invalid("the scale of ", name_, " ", problem);
}

bool Table::is_encoded() const {
  return rows_.dtype == DType::kFloat16 || rows_.dtype == DType::kBFloat16 || has_scale();
}

Encoding Table::encoding() const {
  if (rows_.dtype == DType::kFloat16) return Encoding::kFloat16;
  if (rows_.dtype == DType::kBFloat16) return Encoding::kBFloat16;
  if (has_scale()) {
    return scaled_by(rows_, scale_) == ScaledBy::kRow ? Encoding::kInt8ScaledByRow
                                                      : Encoding::kInt8ScaledByColumn;
  }
  throw_invalid(name_, " holds ", ramet::name(rows_.dtype),
                rows_.dtype == DType::kInt8 ? " and has no scale" : "",
                "; float32, float16, bfloat16 and int8 with a scale are gathered as float32");
}

void Table::gather(std::span<const int64_t> ids, void* out, int threads) const {
  gather_rows(*this, std::ssize(ids), ids_are_rows(ids), out, threads);
}

Array Table::gather(std::span<const int64_t> ids, int threads) const {
  Array out =
      BufferPool::shared()->allocate_array(rows_.dtype, form(false).shape_of(std::ssize(ids)));
  gather(ids, out.data, threads);
  return out;
}

void Table::gather_float32(std::span<const int64_t> ids, float* out, int threads) const {
  gather_rows_float32(*this, std::ssize(ids), ids_are_rows(ids), out, threads);
}

Array Table::gather_float32(std::span<const int64_t> ids, int threads) const {
  if (rows_.dtype != DType::kFloat32) static_cast<void>(encoding());  // may throw
  Array out =
      BufferPool::shared()->allocate_array(DType::kFloat32, form(true).shape_of(std::ssize(ids)));
  gather_float32(ids, static_cast<float*>(out.data), threads);
  return out;
}

void Table::gather_bfloat16(std::span<const int64_t> ids, uint16_t* out, int threads) const {
  if (rows_.dtype == DType::kBFloat16) return gather(ids, out, threads);
  if (rows_.device != kHost) {
    const Array wide = gather_float32(ids, threads);
    return cpu_kernels()->narrow(static_cast<const float*>(wide.data), wide.bytes() / 4, out);
  }
  const auto gather_float32 = float32_kernel(*this);
  const RowForm narrow{DType::kBFloat16, form(true).shape};
  const int64_t row_bytes = narrow.row_bytes(), width = row_bytes / 2;
  gather_chunks(
      dense(rows_), name_, std::ssize(ids), ids_are_rows(ids), out, row_bytes, threads,
      [&](const GatherArgs& rows) { return gather_narrowed(gather_float32, rows, width); });
}

Array gather(const StridedRows& rows, std::span<const int64_t> ids, int threads) {
  std::vector<int64_t> shape = rows.shape;
  shape[0] = std::ssize(ids);
  Array out = BufferPool::shared()->allocate_array(rows.dtype, std::move(shape));
  gather_chunks(rows, "the tensor", std::ssize(ids), ids_are_rows(ids), out.data, out.row_bytes(),
                threads, cpu_kernels()->gather_rows);
  return out;
}

int64_t StridedRows::row_bytes() const {
  return RowForm{dtype, {shape.begin() + 1, shape.end()}}.row_bytes();
}

RowForm Table::form(bool decode) const {
  return {decode && is_encoded() ? DType::kFloat32 : rows_.dtype,
          {rows_.shape.begin() + 1, rows_.shape.end()}};
}

int64_t RowForm::row_bytes() const {
  return std::accumulate(shape.begin(), shape.end(), item_size(dtype), std::multiplies<>());
}

std::vector<int64_t> RowForm::shape_of(int64_t num_rows) const {
  std::vector<int64_t> result{num_rows};
  result.insert(result.end(), shape.begin(), shape.end());
  return result;
}

CacheStats& CacheStats::operator+=(const CacheStats& other) {
  hits += other.hits;
  misses += other.misses;
  return *this;
}

Table find_table(const std::map<std::string, Array>& tables,
                 const std::map<std::string, Array>& scales,
                 const std::string& name,
                 const std::string& owner) {
  const auto found = tables.find(name);
  if (found != tables.end()) {
    const auto scale = scales.find(name);
    return {found->second, scale == scales.end() ? Array{} : scale->second, "table '" + name + "'"};
  }
  std::string names;
  for (const auto& [there, rows] : tables)
    names += (names.empty() ? "'" : ", '") + there + "'";
  throw_error(ErrorCode::kNotFound, owner, " has no table '", name, "'; there is ",
              names.empty() ? "none" : names);
}

}  // namespace ramet
