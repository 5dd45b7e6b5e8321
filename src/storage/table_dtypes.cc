#include "table_dtypes.h"

#include "base/scale.h"
#include "ramet/error.h"
#include "text.h"

namespace ramet {

namespace {

// "node/paper/feat" of "node/paper/feat.scale"; "" for what is no scale's name.
std::string scaled_table(const std::string& name) {
  const std::string suffix = kScaleSuffix;
  if (name.starts_with("split/") || !name.ends_with(suffix)) return "";
  return name.substr(0, name.size() - suffix.size());
}

}  // namespace

TableDTypes table_dtypes(const StoreContents& contents) {
  TableDTypes dtypes;
  for (const auto& [name, array] : contents.arrays) {
    const std::string table = scaled_table(name);
    if (!table.empty()) dtypes[table] = DType::kInt8;
    if (array.dtype == DType::kBFloat16) dtypes[name] = DType::kBFloat16;
  }
  return dtypes;
}

void check_scales(const StoreContents& contents) {
  std::map<std::string, const Array*> by_name;
  for (const auto& [name, array] : contents.arrays)
    by_name.emplace(name, &array);
  for (const auto& [name, array] : contents.arrays) {
    const std::string table = scaled_table(name);
    if (table.empty()) continue;
    const auto rows = by_name.find(table);
    const std::string problem = rows == by_name.end()
                                    ? "has no table beside it: '.scale' ends the names of scales"
                                    : scale_problem(*rows->second, array);
    if (!problem.empty()) throw_invalid("the array ", quoted(name), " ", problem);
  }
}

void apply_table_dtypes(const TableDTypes& dtypes,
                        std::map<std::string, Array>& arrays,
                        const std::function<std::string(const std::string&)>& location) {
  for (const auto& [name, dtype] : dtypes) {
    const std::string says = std::string("ramet.txt says that the table is ") + ramet::name(dtype);
    const auto array = arrays.find(name);
    if (array == arrays.end()) throw_corrupt(location(name), "is missing, but ", says);
    const DType stored = dtype == DType::kBFloat16 ? DType::kUInt16 : DType::kInt8;
    if (array->second.dtype != stored)
      throw_corrupt(location(name), "holds ", array->second.describe(), ", but ", says,
                    ", stored as ", ramet::name(stored));
    array->second.dtype = dtype;
    if (dtype != DType::kInt8) continue;
    const auto scale = arrays.find(name + kScaleSuffix);
    if (scale == arrays.end())
      throw_corrupt(location(name + kScaleSuffix), "is missing, but ", says, " with a scale");
    const std::string problem = scale_problem(array->second, scale->second);
    if (!problem.empty()) throw_corrupt(location(scale->first), problem);
  }
}

}  // namespace ramet
