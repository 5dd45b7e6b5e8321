// write_store: contents into a temporary folder, synced, renamed onto the target.
#include <fcntl.h>
#include <sys/stat.h>

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

class FolderWriter {
 public:
  FolderWriter(const TempFolder& folder, const StoreContents& contents)
      : folder_(folder), contents_(contents) {}

  void write(const Progress& progress) {
    ProgressCount count(progress, contents_.bytes());
    const std::string manifest = print_manifest({contents_.node_counts,
                                                 table_dtypes(contents_),
                                                 contents_.sorted_rows,
                                                 contents_.part,
                                                 random_bits(),
                                                 {}});
    write_file("ramet.txt", manifest, nullptr, 0, count);
    for (const auto& [name, array] : contents_.arrays) {
      make_folder(name.substr(0, name.find('/')));
      make_folder(name.substr(0, name.rfind('/')));
      const std::string header = print_npy_header(array.dtype, array.shape);
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
    const std::string place = folder_.path() + "/" + name;
    const Fd fd(::openat(folder_.fd(), name.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!fd) throw_errno(errno, "create", place);
    write_chunks(fd.get(), 0, head, data, size, place, count);
  }

  const TempFolder& folder_;
  const StoreContents& contents_;
  std::set<std::string> made_;
};

void sync_file(const Folder& folder, const std::string& name, const std::string& place) {
  const Fd fd(::openat(folder.fd(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) throw_errno(errno, "open", place);
  sync_to_disk(fd.get(), place);
}

// Files before the folders that name them.
void sync_tree(const Folder& folder) {
  for (const std::string& name : folder.entries(/*dot_files=*/true)) {
    const std::string place = folder.place() + "/" + name;
    struct stat status{};
    if (::fstatat(folder.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      throw_errno(errno, "inspect", place);
    if (S_ISDIR(status.st_mode))
      sync_tree(Folder(folder.fd(), name, place));
    else if (S_ISREG(status.st_mode))
      sync_file(folder, name, place);
  }
  sync_to_disk(folder.fd(), folder.place());
}

}  // namespace

void write_store(const std::string& path,
                 const StoreContents& contents,
                 const WriteOptions& options) {
  check_contents(contents);
  check_target(path);
  make_parents(path);
  const Target target(path);
  remove_stale(target);
  require_disk(disk_needed(contents), "the store " + target.path(), target.parent().place());
  Fd old_store;  // its lock outlives the TempFolder, which removes it
  const TempFolder folder(target);
  const std::optional<mode_t> mode = target.mode();
  if (mode) folder.set_mode(S_IRWXU);  // what is private is so at every moment
  FolderWriter(folder, contents).write(options.progress);
  if (options.before_commit) options.before_commit(folder.path());
  sync_tree(Folder(target.parent().fd(), folder.name(), folder.path()));
  if (mode) folder.set_mode(*mode);
  old_store = take_place(target, folder.name());
}

}  // namespace ramet
