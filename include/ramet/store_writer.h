// Writing stores: to a folder, atomically, or into an anonymous segment.
//
// write_store() fills a temporary folder beside the target, syncs it and renames it over the
// target. A kill at any time leaves the old store or the new one. The next writer to the same path
// removes a killed writer's files. Two writers at once both succeed, and the later rename wins. It
// replaces only a store, whose folder's mode is kept, or an empty folder. It refuses to write
// inside a store. Parent folders are made.
//
// make_segment() copies into a sealed memfd: no name in any file system, freed by the kernel with
// its last user. Before the first byte is written, both compare the size with free disk, the
// machine's memory and the cgroup's limit (kNoSpace).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ramet/array.h"
#include "ramet/progress.h"
#include "ramet/store.h"

namespace ramet {

// The contents of a store. The arrays are borrowed until the writer returns. An int8 table "feat"
// with an array "feat.scale" beside it is quantized (scale.h); no other table's name may end in
// ".scale".
struct StoreContents {
  std::map<std::string, int64_t> node_counts;         // encoded type name -> nodes
  std::vector<std::pair<std::string, Array>> arrays;  // "node/paper/feat" -> rows
  std::optional<Part> part = std::nullopt;            // of a part of a graph
  std::map<std::string, std::string> sorted_rows{};   // Store::sorted_rows()
  std::map<std::string, Reverse> reverses{};          // Store::reverses()
  // Arrays without data: write_store() makes their files in full length, and
  // WriteOptions::before_commit fills them.
  std::set<std::string> to_fill{};
  [[nodiscard]] int64_t bytes() const;
};

struct WriteOptions {
  Progress progress;  // of the bytes written
  // Called with the temporary folder when all arrays are in it, before the rename.
  std::function<void(const std::string& folder)> before_commit;
};

// Throws what write_store would throw for this path, without writing: for callers with work to do
// before they write.
void check_target(const std::string& path);

void write_store(const std::string& path,
                 const StoreContents& contents,
                 const WriteOptions& options = {});

// A folder of several stores, part-0, part-1, ..., and of a text about them, parts.json, that takes
// its place as a whole. They are written to temp(), also by other processes; then commit() syncs
// all of it and renames it over the target: the old folder or the new one, whenever writers are
// killed. The target may be absent, an empty folder, or such a folder. close() removes remaining
// files.
class PartsFolder {
 public:
  // Throws what write_store() would for that path.
  explicit PartsFolder(const std::string& path);
  ~PartsFolder();
  PartsFolder(const PartsFolder&) = delete;
  PartsFolder& operator=(const PartsFolder&) = delete;

  [[nodiscard]] std::string temp() const;
  void commit();
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::shared_ptr<const Store> make_segment(const StoreContents& contents,
                                                        const Progress& progress = {});

}  // namespace ramet
