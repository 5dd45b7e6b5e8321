// The layout of a segment: what opens can be read to its last byte, and looked at as a graph.
#include <memory>

#include "input.h"
#include "ramet/graph.h"
#include "ramet/store.h"
#include "segment_input.h"
#include "support/segment_memory.h"

using namespace ramet;
using namespace ramet::fuzz;

namespace {

void touch(const Array& array) {
  volatile char sum = 0;
  const auto* bytes = static_cast<const char*>(array.data);
  for (int64_t i = 0; i < array.bytes(); ++i)
    sum = static_cast<char>(sum + bytes[i]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const Fd memory = test::segment_memory(unpack(input));
  succeeds([&] {
    const auto store = Store::open_segment(memory.get());
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
