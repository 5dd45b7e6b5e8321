// Opening a store, beside what the system alone takes: open(2), fstat(2), mmap(2) and back for each
// of its .npy files. Nothing is read, so its size does not matter.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "cases.h"
#include "ramet/store.h"

namespace ramet::bench {
namespace {

std::vector<std::string> npy_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".npy") files.push_back(entry.path());
  return files;
}

void map_and_unmap(const std::string& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) return;
  const auto bytes = static_cast<size_t>(status.st_size);
  void* const data = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (data != MAP_FAILED) munmap(data, bytes);
  close(fd);
}

}  // namespace

void add_store(const Options& options) {
  for (const NamedGraph& named : options.graphs) {
    add("store/open " + named.name, "ramet", [path = named.path](benchmark::State& state) {
      for (auto _ : state)
        benchmark::DoNotOptimize(Graph::from_store(Store::open(path)));
      state.SetItemsProcessed(state.iterations());
    });
    add("store/open " + named.name, "system calls",
        [files = npy_files(named.path)](benchmark::State& state) {
          for (auto _ : state)
            for (const std::string& file : files)
              map_and_unmap(file);
          state.SetItemsProcessed(state.iterations());
        });
  }
}

}  // namespace ramet::bench
