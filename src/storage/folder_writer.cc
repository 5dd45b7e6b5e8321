// write_store and PartsFolder: a temporary folder, synced, renamed onto the target.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "base/system/posix.h"
#include "base/system/space.h"
#include "chunked_write.h"
#include "commit.h"
#include "folder.h"
#include "manifest.h"
#include "npy.h"
#include "ramet/error.h"
#include "ramet/store_writer.h"
#include "segment.h"
#include "shape.h"
#include "store_contents.h"
#include "table_dtypes.h"
#include "target.h"
#include "temp_folder.h"

namespace ramet {

namespace {

constexpr int64_t kBlockBytes = 4096;

// Disk space in whole blocks: a header and data per array, and a block per folder and text file.
int64_t disk_needed(const StoreContents& contents) {
  int64_t needed = 8 * kBlockBytes;
  for (const auto& [name, array] : contents.arrays)
    needed += kNpyDataOffset + round_up(array.bytes(), kBlockBytes) + kBlockBytes;
  return needed;
}

// A temporary folder that gets the target's mode and, when it is whole, its place.
class NewFolder {
 public:
  explicit NewFolder(const Target& target) : target_(target), temp_(target) {
    mode_ = target.mode();
    if (mode_) temp_.set_mode(S_IRWXU);  // what is private is so at every moment
  }

  [[nodiscard]] const TempFolder& temp() const { return temp_; }

  void commit() {
    sync_tree(Folder(target_.parent().fd(), temp_.name(), temp_.path()));
    if (mode_) temp_.set_mode(*mode_);
    old_ = take_place(target_, temp_.name());
  }

 private:
  const Target& target_;
  Fd old_;  // its lock outlives the TempFolder, which removes it
  TempFolder temp_;
  std::optional<mode_t> mode_;
};

class FolderWriter {
 public:
  FolderWriter(const TempFolder& folder, const StoreContents& contents)
      : folder_(folder), contents_(contents) {}

  void write(const Progress& progress) {
    ProgressCount count(progress, contents_.bytes());
    const std::string manifest = print_manifest({contents_.node_counts,
                                                 table_dtypes(contents_),
                                                 contents_.sorted_rows,
                                                 contents_.reverses,
                                                 contents_.part,
                                                 random_bits(),
                                                 {}});
    write_file("ramet.txt", manifest, nullptr, 0, count);
    for (const auto& [name, array] : contents_.arrays) {
      make_folder(name.substr(0, name.find('/')));
      make_folder(name.substr(0, name.rfind('/')));
      const std::string header = print_npy_header(array.dtype, array.shape);
      if (contents_.to_fill.count(name) > 0)
        make_file(name + ".npy", header, array.bytes(), count);
      else
        write_file(name + ".npy", header, array.data, array.bytes(), count);
    }
  }

 private:
  void make_folder(const std::string& name) {
    if (!made_.insert(name).second) return;
    if (::mkdirat(folder_.fd(), name.c_str(), 0777) != 0)
      throw_errno(errno, "create", folder_.path() + "/" + name);
  }

  void write_file(const std::string& name,
                  const std::string& head,
                  const void* data,
                  int64_t size,
                  ProgressCount& count) {
    write_chunks(create(name).get(), 0, head, data, size, location_of(name), count);
  }

  // A file whose data somebody else writes.
  void make_file(const std::string& name,
                 const std::string& head,
                 int64_t size,
                 ProgressCount& count) {
    const Fd fd = create(name);
    write_chunks(fd.get(), 0, head, nullptr, 0, location_of(name), count);
    if (::ftruncate(fd.get(), int64_t(head.size()) + size) != 0)
      throw_errno(errno, "resize", location_of(name));
  }

  [[nodiscard]] Fd create(const std::string& name) const {
    Fd fd(::openat(folder_.fd(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   0666));
    if (!fd) throw_errno(errno, "create", location_of(name));
    return fd;
  }

  [[nodiscard]] std::string location_of(const std::string& name) const {
    return folder_.path() + "/" + name;
  }

  const TempFolder& folder_;
  const StoreContents& contents_;
  std::set<std::string> made_;
};

}  // namespace

void write_store(const std::string& path,
                 const StoreContents& contents,
                 const WriteOptions& options) {
  check_contents(contents);
  check_target(path);
  make_parents(path);
  const Target target(path);
  remove_stale(target);
  require_disk(disk_needed(contents), "the store " + target.path(), target.parent().location());
  NewFolder folder(target);
  FolderWriter(folder.temp(), contents).write(options.progress);
  if (options.before_commit) options.before_commit(folder.temp().path());
  folder.commit();
}

struct PartsFolder::State {
  explicit State(const std::string& path) : target(path, parts_folder()) {
    remove_stale(target);
    folder.emplace(target);
  }
  Target target;
  std::optional<NewFolder> folder;
};

PartsFolder::PartsFolder(const std::string& path) {
  make_parents(path);
  state_ = std::make_unique<State>(path);
}

PartsFolder::~PartsFolder() = default;

std::string PartsFolder::temp() const {
  return state_->folder->temp().path();
}

void PartsFolder::commit() {
  state_->folder->commit();
}

void PartsFolder::close() {
  state_.reset();
}

}  // namespace ramet
