// Writing stores: to a folder, atomically, or into an anonymous segment.
//
// write_store() fills a temporary folder beside the target, syncs it and renames it over the
// target: whenever it is killed there is the old store or the new one. What a killed writer left
// is removed by the next writer to the same path. Two writers at once: both succeed, the later
// rename wins. It replaces a store, whose folder's mode is kept, or an empty folder and nothing
// else; it refuses to write inside of a store. Folders around the target are made. make_segment()
// copies into a sealed memfd: no name in any file system, freed by the kernel with its last user.
// Both compare the size with what the disk, the machine's memory and the cgroup have to give
// before the first byte is written (kNoSpace).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ramet/array.h"
#include "ramet/store.h"

namespace ramet {

// What a store holds. The arrays are borrowed until the writer returns. An int8 table "feat" with
// an array "feat.scale" beside it is quantized (scale.h); no other table's name may end in
// ".scale".
struct StoreContents {
  std::map<std::string, int64_t> node_counts;         // encoded type name -> nodes
  std::vector<std::pair<std::string, Array>> arrays;  // "node/paper/feat" -> rows
  std::optional<Part> part = std::nullopt;            // of a part of a graph
  [[nodiscard]] int64_t bytes() const;
};

// Called with bytes written so far and in all; may throw to stop (nothing is left behind).
using Progress = std::function<void(int64_t done, int64_t total)>;

struct WriteOptions {
  Progress progress;
  // Called with the temporary folder when all arrays are in it, before it takes its place.
  std::function<void(const std::string& folder)> before_commit;
};

// Throws what write_store would throw for this path, and makes nothing: for whoever has work to do
// before it writes.
void check_target(const std::string& path);

void write_store(const std::string& path,
                 const StoreContents& contents,
                 const WriteOptions& options = {});

[[nodiscard]] std::shared_ptr<const Store> make_segment(const StoreContents& contents,
                                                        const Progress& progress = {});

}  // namespace ramet
