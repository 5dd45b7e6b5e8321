// Store over the files of a folder.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "array_name.h"
#include "base/system/posix.h"
#include "base/system/space.h"
#include "folder.h"
#include "manifest.h"
#include "mapped_file.h"
#include "npy.h"
#include "ramet/error.h"
#include "ramet/store.h"
#include "ramet/version.h"
#include "row_reads.h"
#include "table_dtypes.h"
#include "text.h"

namespace ramet {

namespace {

constexpr int64_t kMaxManifestBytes = int64_t{16} << 20;
constexpr int kMaxReplacements = 100;

Manifest read_manifest(const Folder& folder) {
  const std::string location = folder.location() + "/ramet.txt";
  struct stat status{};
  if (::fstatat(folder.fd(), "ramet.txt", &status, 0) != 0 && errno == ENOENT)
    throw Error(ErrorCode::kNotFound, folder.location() + " is not a store: it has no ramet.txt",
                ENOENT);
  const InputFile file(folder.fd(), "ramet.txt", location);
  if (file.size() > kMaxManifestBytes)
    throw_error(ErrorCode::kCorrupt, location, " has ", file.size(), " bytes, at most ",
                kMaxManifestBytes, " are read");
  return parse_manifest(file.read(0, file.size()), ManifestForm::kFolder, location);
}

Array copied(const Array& array, const std::string& location) {
  const std::string what = "a copy of " + location + ", which is there no more,";
  require_memory(array.bytes(), what);
  Array copy = array;
  const std::shared_ptr<std::byte> bytes = map_memory(std::max<int64_t>(array.bytes(), 1), what);
  if (array.bytes() > 0) std::memcpy(bytes.get(), array.data, static_cast<size_t>(array.bytes()));
  copy.data = bytes.get();
  copy.owner = bytes;
  copy.writable = true;
  return copy;
}

Array map_array(const InputFile& file, OpenMode mode) {
  NpyHeader header = read_npy_header(file);
  std::shared_ptr<std::byte> bytes = file.map(mode);
  std::byte* data = bytes.get() + header.data_offset;
  return {data, header.dtype, std::move(header.shape), std::move(bytes),
          mode == OpenMode::kCopyOnWrite};
}

class FolderStore final : public Store {
 public:
  FolderStore(std::string path, std::shared_ptr<const Folder> folder) : folder_(std::move(folder)) {
    path_ = std::move(path);
    identity_ = folder_->identity();
  }

  void load(OpenMode mode) {
    Manifest manifest = read_manifest(*folder_);
    node_counts_ = std::move(manifest.node_counts);
    table_dtypes_ = std::move(manifest.table_dtypes);
    sorted_rows_ = std::move(manifest.sorted_rows);
    reverses_ = std::move(manifest.reverses);
    part_ = manifest.part;
    id_ = manifest.id;
    for (const std::string& entry : folder_->entries()) {
      if (entry == "ramet.txt" || entry == "checksums.txt") continue;
      if (!is_array_folder(entry)) fail_unknown(folder_->location() + "/", entry);
      if (is_flat_folder(entry)) {
        load_arrays(*folder_, entry, entry, mode);
        continue;
      }
      const Folder kind(folder_->fd(), entry, folder_->location() + "/" + entry);
      for (const std::string& group : kind.entries())
        load_arrays(kind, group, entry + "/" + group, mode);
    }
    apply_table_dtypes(table_dtypes_, arrays_, [this](const auto& name) { return location(name); });
    if (!is_in_memory(path_))
      read_by_row_ = beyond_memory(arrays_, [] { return available_memory().bytes; });
    for (const std::string& name : read_by_row_)
      advise_row_reads(arrays_.at(name));
  }

  // The folder is held open, so this finds the same file wherever the folder has been moved.
  [[nodiscard]] Array copy_on_write(const std::string& name) const override {
    const Array& array = array_of(name);
    Array again;
    try {
      const InputFile file(folder_->fd(), name + ".npy", location(name));
      again = map_array(file, OpenMode::kCopyOnWrite);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kNotFound) throw;
      return copied(array, location(name));
    }
    if (again.shape != array.shape || item_size(again.dtype) != item_size(array.dtype))
      throw_error(ErrorCode::kCorrupt, location(name), " holds ", again.describe(), ", and held ",
                  array.describe(), " when the store was opened");
    again.dtype = array.dtype;
    if (read_by_row_.count(name) > 0) advise_row_reads(again);
    return again;
  }

 private:
  // The arrays of the folder `inner` of `outer`, whose names begin with `prefix`: "node/paper".
  void load_arrays(const Folder& outer,
                   const std::string& inner,
                   const std::string& prefix,
                   OpenMode mode) {
    constexpr std::string_view kSuffix = ".npy";
    const Folder folder(outer.fd(), inner, outer.location() + "/" + printable(inner));
    const std::vector<std::string> entries = folder.entries();
    // The folder names a type or split; without files it would vanish in silence.
    if (entries.empty()) {
      throw_error(ErrorCode::kCorrupt, folder.location(), " is empty: its .npy files are missing");
    }
    for (const std::string& entry : entries) {
      if (entry.size() <= kSuffix.size() || !std::string_view(entry).ends_with(kSuffix))
        fail_unknown(folder.location() + "/", entry);
      const std::string table = entry.substr(0, entry.size() - kSuffix.size());
      const std::string name = prefix + "/" + table;
      const std::string problem = array_name_problem(name);
      if (!problem.empty()) throw_corrupt(path_, "array name ", quoted(name), ": ", problem);
      arrays_.emplace(name, map_array(InputFile(folder.fd(), entry, location(name)), mode));
    }
  }

  // A group's name as it stands in a location: file names may hold any bytes.
  static std::string printable(const std::string& group) {
    const std::string text = quoted(group);
    return text.substr(1, text.size() - 2);
  }

  [[noreturn]] static void fail_unknown(const std::string& location, const std::string& entry) {
    throw_corrupt(location, quoted(entry), " is no part of a store that ramet ", kVersion,
                  " knows");
  }

  std::shared_ptr<const Folder> folder_;
};

std::string without_last_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path;
}

bool is_at(const std::string& path, Identity identity) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && Identity(status.st_dev, status.st_ino) == identity;
}

}  // namespace

// A store may be replaced, and the old one then removed file by file, while it is read here: what
// was read counts only if the folder still stands at the path afterwards.
std::shared_ptr<const Store> Store::open(const std::string& given_path, OpenMode mode) {
  check_path(given_path);
  const std::string path = without_last_slashes(given_path);
  for (int attempt = 0; attempt < kMaxReplacements; ++attempt) {
    const auto folder = std::make_shared<const Folder>(AT_FDCWD, path, path);
    auto store = std::make_shared<FolderStore>(path, folder);
    try {
      store->load(mode);
    } catch (const Error&) {
      if (is_at(path, store->identity())) throw;
      continue;
    }
    if (is_at(path, store->identity())) return store;
  }
  throw_error(ErrorCode::kIo, path, " was replaced ", kMaxReplacements,
              " times while it was being opened");
}

const Array& Store::array_of(const std::string& array_name) const {
  const auto it = arrays_.find(array_name);
  if (it == arrays_.end())
    throw_error(ErrorCode::kNotFound, "no array ", quoted(array_name), " in the store");
  return it->second;
}

std::string Store::location(const std::string& array_name) const {
  return path_.empty() ? "segment:" + array_name : path_ + "/" + array_name + ".npy";
}

}  // namespace ramet
