// The layout of a segment: what opens can be read to its last byte, and looked at as a graph.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>

#include "input.h"
#include "ramet/graph.h"
#include "ramet/store.h"
#include "segment_input.h"

using namespace ramet;
using namespace ramet::fuzz;

namespace {

// A sealed memfd with these bytes.
class Memory {
 public:
  explicit Memory(const std::string& bytes)
      : fd_(::memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    require(::write(fd_, bytes.data(), bytes.size()) == ssize_t(bytes.size()));
    require(::fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0);
    read_only_ = ::open(("/proc/self/fd/" + std::to_string(fd_)).c_str(), O_RDONLY | O_CLOEXEC);
    require(read_only_ >= 0);
  }
  ~Memory() {
    ::close(read_only_);
    ::close(fd_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] int fd() const { return read_only_; }

 private:
  int fd_, read_only_ = -1;
};

void touch(const Array& array) {
  volatile char sum = 0;
  const auto* bytes = static_cast<const char*>(array.data);
  for (int64_t i = 0; i < array.bytes(); ++i)
    sum = static_cast<char>(sum + bytes[i]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const Memory memory(unpack(input));
  succeeds([&] {
    const auto store = Store::open_segment(memory.fd());
    for (const auto& [name, array] : store->arrays()) {
      touch(array);
      touch(store->copy_on_write(name));
    }
    const auto graph = Graph::from_store(store);
    static_cast<void>(graph->fingerprint());
    validate(*graph, 1);
  });
  return 0;
}
