// The record of what is page-locked is a map of pieces: ranges of whole pages that do not overlap,
// each locked by one call of CUDA's. An array holds the pieces that it lies in; where some of its
// pages are in none, these become new pieces. A piece keeps alive the owner of the array that it
// was made for, since its pages must stay mapped for whoever else shares them.
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/per_process.h"
#include "kernels/cuda_backend.h"
#include "ramet/cuda_memory.h"
#include "ramet/error.h"

namespace ramet {
namespace {

struct Range {
  uintptr_t begin, end;
};

Range pages_of(const Array& array) {
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(array.data);
  const uintptr_t end = begin + static_cast<uintptr_t>(array.bytes());
  return {begin / page * page, (end + page - 1) / page * page};
}

const void* at(uintptr_t address) {
  return reinterpret_cast<const void*>(address);
}

// CUDA's reason for not locking `range`, and for what it was asked.
Error refusal(const Array& array, Range range, const Error& reason) {
  const std::string length = std::to_string(range.end - range.begin);
  return {reason.code(), "cannot page-lock " + length + " bytes of " + array.describe() +
                             " for kernels: " + reason.what()};
}

class Pieces {
 public:
  // The beginnings of the pieces that cover `array`, each held once more.
  std::vector<uintptr_t> hold(const Array& array) {
    const Range range = pages_of(array);
    const std::lock_guard lock(mutex_);
    if (array.writable) require_writable(array, range);
    std::vector<uintptr_t> held;
    try {
      for (uintptr_t from = range.begin; from < range.end;) {
        const auto next = pieces_.upper_bound(from);
        const bool inside = next != pieces_.begin() && from < std::prev(next)->second.end;
        const uintptr_t gap_end =
            next == pieces_.end() ? range.end : std::min(range.end, next->first);
        if (!inside && locked_by_others(array, from)) {
          from = gap_end;
          continue;
        }
        const auto it = inside ? std::prev(next) : lock_pages(array, {from, gap_end});
        held.push_back(it->first);
        ++it->second.holders;
        from = it->second.end;
      }
    } catch (...) {
      drop(held);
      throw;
    }
    return held;
  }

  void release(const std::vector<uintptr_t>& held) {
    Owners owners;  // die when the lock is open again
    const std::lock_guard lock(mutex_);
    owners = drop(held);
  }

  int64_t bytes() {
    const std::lock_guard lock(mutex_);
    uintptr_t sum = 0;
    for (const auto& [begin, piece] : pieces_)
      sum += piece.end - begin;
    return static_cast<int64_t>(sum);
  }

 private:
  struct Piece {
    uintptr_t end;
    bool writable;
    std::shared_ptr<const void> owner;
    int64_t holders = 0;
  };
  using Map = std::map<uintptr_t, Piece>;  // by beginning
  using Owners = std::vector<std::shared_ptr<const void>>;

  static bool locked_by_others(const Array& array, uintptr_t from) {
    const auto data = reinterpret_cast<uintptr_t>(array.data);
    return require_cuda().runtime.is_page_locked(at(std::max(from, data)));
  }

  // A new piece, of pages that are in none.
  Map::iterator lock_pages(const Array& array, Range range) {
    const auto piece =
        pieces_.emplace(range.begin, Piece{range.end, array.writable, array.owner}).first;
    try {
      require_cuda().runtime.register_host(
          at(range.begin), static_cast<int64_t>(range.end - range.begin), array.writable);
    } catch (const Error& reason) {
      pieces_.erase(piece);
      throw refusal(array, range, reason);
    }
    return piece;
  }

  void require_writable(const Array& array, Range range) const {
    for (const auto& [begin, piece] : pieces_) {
      if (piece.writable || begin >= range.end || piece.end <= range.begin) continue;
      throw_invalid("kernels are to write ", array.describe(),
                    ", but a part of its pages is locked for reading alone by somebody else");
    }
  }

  // The owners of the pieces that nobody holds any more.
  Owners drop(const std::vector<uintptr_t>& held) {
    Owners owners;
    for (const uintptr_t begin : held) {
      const auto it = pieces_.find(begin);
      if (--it->second.holders > 0) continue;
      require_cuda().runtime.unregister_host(at(begin));
      owners.push_back(std::move(it->second.owner));
      pieces_.erase(it);
    }
    return owners;
  }

  std::mutex mutex_;
  Map pieces_;
};

Pieces& pieces() {
  static auto* const of_process = new PerProcess<Pieces>;  // never destroyed: what outlives main()
  return of_process->get();                                // may hold pages
}

}  // namespace

// The pieces of one array, until it dies in the process that made it.
class HostRegistration::Hold {
 public:
  explicit Hold(const Array& array) : held_(pieces().hold(array)) {}
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() {
    if (getpid() == process_) pieces().release(held_);
  }

 private:
  const pid_t process_ = getpid();
  std::vector<uintptr_t> held_;
};

HostRegistration::HostRegistration(const Array& array) : array_(array) {
  if (array.device != kHost) {
    throw_invalid("cannot page-lock ", array.describe(), ": it lies in memory of device ",
                  array.device);
  }
  static_cast<void>(require_cuda());
  if (array.bytes() > 0) hold_ = std::make_shared<const Hold>(array);
}

void* HostRegistration::address(int device) const {
  if (array_.bytes() == 0) return nullptr;
  const CudaRuntime& runtime = require_cuda().runtime;
  auto* const first = static_cast<char*>(array_.data);
  const int64_t length = array_.bytes() - 1;
  auto* const there = static_cast<char*>(runtime.device_address(device, first));
  if (runtime.device_address(device, first + length) == there + length) return there;
  throw_error(ErrorCode::kDevice, "device ", device, " sees the pages of ", array_.describe(),
              ", which were page-locked in pieces, at separate addresses");
}

int64_t HostRegistration::registered_bytes() {
  return pieces().bytes();
}

}  // namespace ramet
