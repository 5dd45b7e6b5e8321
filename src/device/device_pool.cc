#include "ramet/cuda_memory.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/free_list.h"
#include "base/per_process.h"
#include "event_cache.h"
#include "kernels/cuda_backend.h"
#include "ramet/error.h"

namespace ramet {
namespace {

constexpr int64_t kEverything = int64_t{1} << 56;  // idle bytes of a pool, bound by its peak of use

// What `stream` had been given when the event was recorded.
struct Use {
  CudaStreamHandle stream;
  CudaEventHandle event;
};

struct DeviceMemory {
  struct Buffer {
    void* data = nullptr;
    int64_t size = 0;
    std::vector<Use> uses;  // before it became idle
  };
  explicit DeviceMemory(int its_device)
      : device(its_device), events(std::make_shared<EventCache>(its_device)) {}

  Buffer map(int64_t size) const {
    return {require_cuda().runtime.allocate(device, size), size, {}};
  }
  void unmap(Buffer buffer) const noexcept {
    const CudaRuntime& runtime = cuda_backend()->runtime;
    for (const Use& use : buffer.uses) {
      try {
        runtime.wait_on_host(device, use.event);
      } catch (const Error&) {
        // The stream's own failure; its work is over.
      }
      events->give_back(use.event);
    }
    runtime.free(device, buffer.data);
  }

  int device;
  std::shared_ptr<EventCache> events;
};

// Streams of the engine, which nobody captures, and which have done their work when they end.
class OwnStreams {
 public:
  void add(CudaStreamHandle stream) {
    const std::lock_guard lock(mutex_);
    streams_.insert(stream);
  }
  void remove(CudaStreamHandle stream) {
    const std::lock_guard lock(mutex_);
    streams_.erase(stream);
  }
  bool has(CudaStreamHandle stream) {
    const std::lock_guard lock(mutex_);
    return streams_.contains(stream);
  }
  // Calls mark(), during which the stream does not end; true where it has ended before.
  template <typename Mark>
  bool mark_if_alive(CudaStreamHandle stream, const Mark& mark) {
    const std::lock_guard lock(mutex_);
    return !streams_.contains(stream) || mark();
  }

 private:
  std::mutex mutex_;
  std::set<CudaStreamHandle> streams_;
};

OwnStreams& own_streams() {
  static auto* const streams = new OwnStreams;  // never destroyed: threads may hold streams
  return *streams;
}

// Lives as long as the calling thread, which a ThreadNote does not tell.
const std::shared_ptr<const int>& life_of_thread() {
  thread_local const auto life = std::make_shared<const int>(0);
  return life;
}

// A stream that uses a buffer, and the thread that said so, which alone may mark what the stream
// was given, as long as it lives. The engine's own streams are marked by any thread.
struct User {
  explicit User(CudaStreamHandle its_stream)
      : stream(its_stream), is_own(own_streams().has(its_stream)) {
    if (!is_own) thread = life_of_thread();
  }
  [[nodiscard]] bool is_of_this_thread() const {
    const std::shared_ptr<const int> life = thread.lock();
    return life == nullptr || life == life_of_thread();
  }

  CudaStreamHandle stream;
  bool is_own;
  std::weak_ptr<const int> thread;
};

// A buffer that is handed out.
class InUse {
 public:
  InUse(const DeviceMemory& memory, DeviceMemory::Buffer buffer)
      : device_(memory.device), events_(memory.events), buffer_(std::move(buffer)) {}

  [[nodiscard]] void* data() const { return buffer_.data; }

  // Whatever used it before is done before `stream` uses it.
  void start(CudaStreamHandle stream) {
    const CudaRuntime& runtime = require_cuda().runtime;
    for (; !buffer_.uses.empty(); buffer_.uses.pop_back()) {
      const Use& use = buffer_.uses.back();
      if (use.stream != stream) runtime.wait(device_, stream, use.event);
      events_->give_back(use.event);
    }
    set_users({stream});
  }
  void set_users(const std::vector<CudaStreamHandle>& streams) {
    const std::lock_guard lock(mutex_);
    users_.clear();
    for (const CudaStreamHandle stream : streams)
      users_.emplace_back(stream);
  }
  void add_user(CudaStreamHandle stream) {
    const std::lock_guard lock(mutex_);
    const auto is_it = [=](const User& user) { return user.stream == stream; };
    if (std::none_of(users_.begin(), users_.end(), is_it)) users_.emplace_back(stream);
  }

  // Whether finish() may get on in this thread.
  bool is_of_this_thread() {
    const std::lock_guard lock(mutex_);
    return std::any_of(users_.begin(), users_.end(),
                       [](const User& user) { return user.is_of_this_thread(); });
  }
  // From now on it may in every thread.
  void release_threads() {
    const std::lock_guard lock(mutex_);
    for (User& user : users_)
      user.thread.reset();
  }

  // Marks what its users were given so far, but for those of other threads: one of these may begin
  // a capture, and the driver crashes where another thread's mark comes while it does. Nor is
  // anything marked where a stream records its work into a graph. The buffer, once all is.
  std::optional<DeviceMemory::Buffer> finish() {
    const std::lock_guard lock(mutex_);
    buffer_.uses.reserve(buffer_.uses.size() + users_.size());
    std::erase_if(users_,
                  [&](const User& user) { return user.is_of_this_thread() && could_mark(user); });
    if (!users_.empty()) return std::nullopt;
    return std::move(buffer_);
  }

 private:
  bool could_mark(const User& user) {
    const auto mark = [&] { return could_record(user.stream); };
    return user.is_own ? own_streams().mark_if_alive(user.stream, mark) : mark();
  }
  bool could_record(CudaStreamHandle stream) {
    const CudaRuntime& runtime = require_cuda().runtime;
    if (runtime.is_capturing(device_, stream)) return false;
    const CudaEventHandle event = events_->take();
    try {
      runtime.record(device_, event, stream);
    } catch (const Error&) {  // of the default stream, while one that it waits for is captured
      events_->give_back(event);
      return false;
    }
    buffer_.uses.push_back({stream, event});
    return true;
  }

  const int device_;
  const std::shared_ptr<EventCache> events_;
  DeviceMemory::Buffer buffer_;
  std::mutex mutex_;
  std::vector<User> users_;
};

class RecyclingDevicePool;

// The deleter of a buffer's pointer, by which an Array's buffer is found again.
struct GiveBack {
  std::shared_ptr<RecyclingDevicePool> pool;
  std::shared_ptr<InUse> buffer;
  void operator()(void*) const noexcept;
};

class RecyclingDevicePool final : public DevicePool {
 public:
  explicit RecyclingDevicePool(int device) : memory_(device), free_list_(memory_) {}
  ~RecyclingDevicePool() override {
    if (getpid() != owner_) return;
    for (const auto& buffer : parked_)
      buffer->release_threads();
    take_parked();  // what is still captured stays with the driver
  }
  RecyclingDevicePool(const RecyclingDevicePool&) = delete;
  RecyclingDevicePool& operator=(const RecyclingDevicePool&) = delete;

  std::shared_ptr<BufferPool> on(CudaStreamHandle stream) override;

  std::shared_ptr<void> allocate(int64_t bytes, CudaStreamHandle stream) {
    take_parked();
    auto buffer = std::make_shared<InUse>(memory_, free_list_.take(bytes));
    auto self = std::static_pointer_cast<RecyclingDevicePool>(shared_from_this());
    std::shared_ptr<void> owner(buffer->data(), GiveBack{std::move(self), buffer});
    buffer->start(stream);
    return owner;
  }

  void give_back(const std::shared_ptr<InUse>& buffer) noexcept {
    if (getpid() != owner_) return;  // the parent's memory, of which a child knows nothing
    try {
      if (std::optional<DeviceMemory::Buffer> idle = buffer->finish())
        free_list_.give_back(std::move(*idle), kEverything);
      else
        park(buffer);
    } catch (const std::exception&) {
      // The driver is gone or out of events: the memory stays with it.
    }
  }

  // Gives back the parked buffers that this thread may mark, whose captures have ended.
  void take_parked() {
    std::vector<std::shared_ptr<InUse>> taken;
    {
      const std::lock_guard lock(parked_mutex_);
      const auto others = std::partition(parked_.begin(), parked_.end(), [](const auto& buffer) {
        return !buffer->is_of_this_thread();
      });
      taken.assign(others, parked_.end());
      parked_.erase(others, parked_.end());
    }
    for (const auto& buffer : taken)
      give_back(buffer);
  }

  int device() const override { return memory_.device; }
  int64_t bytes_in_use() const override { return free_list_.in_use(); }
  int64_t bytes_idle() const override { return free_list_.idle(); }

 private:
  void park(const std::shared_ptr<InUse>& buffer) {
    const std::lock_guard lock(parked_mutex_);
    parked_.push_back(buffer);
  }

  const pid_t owner_ = getpid();
  const DeviceMemory memory_;
  FreeList<DeviceMemory> free_list_;
  // Given back by users that record a graph, or by other threads than theirs.
  std::mutex parked_mutex_;
  std::vector<std::shared_ptr<InUse>> parked_;
};

void GiveBack::operator()(void*) const noexcept {
  pool->give_back(buffer);
}

class PoolOnStream final : public BufferPool {
 public:
  PoolOnStream(std::shared_ptr<RecyclingDevicePool> pool, CudaStreamHandle stream)
      : pool_(std::move(pool)), stream_(stream) {}

  std::shared_ptr<void> allocate(int64_t bytes) override {
    if (require_cuda().runtime.is_capturing(device(), stream_))
      throw_invalid(
          "a stream that is captured into a graph gets no memory: the graph would use it ",
          "when it is another's");
    return pool_->allocate(bytes, stream_);
  }
  int device() const override { return pool_->device(); }
  int64_t bytes_in_use() const override { return pool_->bytes_in_use(); }
  int64_t bytes_idle() const override { return pool_->bytes_idle(); }

 private:
  const std::shared_ptr<RecyclingDevicePool> pool_;
  const CudaStreamHandle stream_;
};

std::shared_ptr<BufferPool> RecyclingDevicePool::on(CudaStreamHandle stream) {
  auto self = std::static_pointer_cast<RecyclingDevicePool>(shared_from_this());
  return std::make_shared<PoolOnStream>(std::move(self), stream);
}

struct PinnedMemory {
  struct Buffer {
    void* data = nullptr;
    int64_t size = 0;
  };
  static Buffer map(int64_t size) { return {require_cuda().runtime.allocate_pinned(size), size}; }
  static void unmap(Buffer buffer) noexcept { cuda_backend()->runtime.free_pinned(buffer.data); }
};

class PinnedPool final : public BufferPool {
 public:
  std::shared_ptr<void> allocate(int64_t bytes) override {
    const PinnedMemory::Buffer buffer = free_list_.take(bytes);
    auto self = std::static_pointer_cast<PinnedPool>(shared_from_this());
    return {buffer.data, [self = std::move(self), buffer](void*) {
              if (getpid() == self->owner_) self->free_list_.give_back(buffer, kEverything);
            }};
  }
  int64_t bytes_in_use() const override { return free_list_.in_use(); }
  int64_t bytes_idle() const override { return free_list_.idle(); }

 private:
  const pid_t owner_ = getpid();
  FreeList<PinnedMemory> free_list_;
};

}  // namespace

CudaStream::CudaStream(int device)
    : device_(device), handle_(require_cuda().runtime.create_stream(device)) {
  own_streams().add(handle_);
}

CudaStream::~CudaStream() {
  try {
    synchronize();
  } catch (const Error&) {
    // The stream's own failure; its work is over.
  }
  own_streams().remove(handle_);
  cuda_backend()->runtime.destroy_stream(device_, handle_);
}

void CudaStream::synchronize() const {
  require_cuda().runtime.synchronize(device_, handle_);
}

std::shared_ptr<DevicePool> DevicePool::create(int device) {
  return std::make_shared<RecyclingDevicePool>(device);
}

std::shared_ptr<DevicePool> DevicePool::shared(int device) {
  struct Pools {
    std::mutex mutex;
    std::map<int, std::shared_ptr<DevicePool>> of;
  };
  static auto* const all = new PerProcess<Pools>;  // never destroyed: threads may hold buffers
  Pools& pools = all->get();
  const std::lock_guard lock(pools.mutex);
  std::shared_ptr<DevicePool>& pool = pools.of[device];
  if (pool == nullptr) pool = create(device);
  return pool;
}

void DevicePool::set_users(const Array& array, const std::vector<CudaStreamHandle>& streams) {
  if (auto* found = std::get_deleter<GiveBack>(array.owner)) {
    found->buffer->set_users(streams);
    found->pool->take_parked();  // of this thread, which may neither allocate nor give back
  }
}

void DevicePool::add_user(const Array& array, CudaStreamHandle stream) {
  if (auto* found = std::get_deleter<GiveBack>(array.owner)) found->buffer->add_user(stream);
}

std::shared_ptr<BufferPool> create_pinned_pool() {
  return std::make_shared<PinnedPool>();
}

}  // namespace ramet
