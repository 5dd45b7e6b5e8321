// The text of ramet.txt, and the table of contents of a segment, which is the same text with a
// line per array. docs/format.md, sections 1 and 6.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ramet/array.h"
#include "ramet/store.h"

namespace ramet {

// What the text of every version begins with.
inline constexpr const char* kManifestMagic = "ramet-store ";

struct ArrayEntry {
  std::string name;
  DType dtype = DType::kInt64;
  std::vector<int64_t> shape;
  int64_t offset = 0;
};

struct Manifest {
  std::map<std::string, int64_t> node_counts;  // by encoded type name
  std::map<std::string, DType> table_dtypes;   // kBFloat16 or kInt8 by array name: table_dtypes.h
  std::map<std::string, std::string> sorted_rows;  // array name by encoded edge type
  std::map<std::string, Reverse> reverses;         // by encoded edge type
  std::optional<Part> part;
  std::optional<uint64_t> id;      // of the content
  std::vector<ArrayEntry> arrays;  // of a segment
};

enum class ManifestForm { kFolder, kSegment };

[[nodiscard]] std::string print_manifest(const Manifest& manifest);

// Throws kCorrupt naming `location` and the line.
[[nodiscard]] Manifest parse_manifest(const std::string& text,
                                      ManifestForm form,
                                      const std::string& location);

}  // namespace ramet
