// The record of what is page-locked is a map of pieces: ranges of whole pages that do not overlap,
// each locked by one call of CUDA's. An array holds the pieces that it lies in; where some of its
// pages are in none, these become new pieces. A piece keeps alive the owner of the array that it
// was made for, since its pages must stay mapped for whoever else shares them.
//
// Locking takes seconds, so it is not done under the record's mutex: a piece is entered first, as
// one that is changing. Who needs the same pages waits for it, all others go on.
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/per_process.h"
#include "base/system/populate.h"
#include "base/system/writable_pages.h"
#include "kernels/cuda_backend.h"
#include "ramet/cuda_memory.h"
#include "ramet/error.h"
#include "refusal.h"

namespace ramet {
namespace {

constexpr uintptr_t kHugePage = uintptr_t{2} << 20;
constexpr int64_t kPopulatedAtOnce = int64_t{1} << 30;  // between two reports of progress

struct PageRange {
  uintptr_t begin = 0, end = 0;
  [[nodiscard]] int64_t bytes() const { return static_cast<int64_t>(end - begin); }
};

uintptr_t page_bytes() {
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return page;
}

uintptr_t address_of(const Array& array) {
  return reinterpret_cast<uintptr_t>(array.data);
}

PageRange pages_of(const Array& array) {
  const uintptr_t page = page_bytes(), begin = address_of(array);
  const uintptr_t end = begin + static_cast<uintptr_t>(array.bytes());
  return {begin / page * page, (end + page - 1) / page * page};
}

const void* at(uintptr_t address) {
  return reinterpret_cast<const void*>(address);
}

// Where a piece from `begin` on ends at the latest. Pieces cut no huge page in two.
uintptr_t end_of_piece(uintptr_t begin, int64_t piece_bytes) {
  const uintptr_t page = page_bytes();
  const auto pages = std::max(static_cast<uintptr_t>(piece_bytes) / page, uintptr_t{1});
  const uintptr_t end = begin + pages * page;
  return pages * page > kHugePage ? end / kHugePage * kHugePage : end;
}

// Whether others have locked the page, asked where the array lies on it: of a page that is locked
// in part, CUDA knows that part.
bool locked_by_others(const Array& array, uintptr_t page) {
  return require_cuda().runtime.is_page_locked(at(std::max(page, address_of(array))));
}

// Memory that others locked was one call of theirs: some pages tell for all, of which there may be
// millions.
bool seems_locked_by_others(const Array& array, PageRange gap) {
  constexpr uintptr_t kAsked = 64;
  const uintptr_t page = page_bytes();
  const uintptr_t num_pages = (gap.end - gap.begin) / page;
  if (num_pages <= kAsked) return false;
  for (uintptr_t i = 0; i <= kAsked; ++i)
    if (!locked_by_others(array, gap.begin + (num_pages - 1) * i / kAsked * page)) return false;
  return true;
}

// `gap` without the pages at its ends that others have locked: pinned tensors, or neighbours that
// share a page.
PageRange without_others(const Array& array, PageRange gap) {
  const uintptr_t page = page_bytes();
  if (seems_locked_by_others(array, gap)) return {gap.end, gap.end};
  while (gap.begin < gap.end && locked_by_others(array, gap.begin))
    gap.begin += page;
  while (gap.begin < gap.end && locked_by_others(array, gap.end - page))
    gap.end -= page;
  return gap;
}

// One call that registers an array.
class Request {
 public:
  Request(const Array& array, const RegistrationOptions& options)
      : array_(array), options_(options), pages_(pages_of(array)) {}

  [[nodiscard]] const Array& array() const { return array_; }
  [[nodiscard]] PageRange pages() const { return pages_; }
  // Of the pages that are in no piece from `begin` on to `end`, those of the next one.
  [[nodiscard]] PageRange next_piece(uintptr_t begin, uintptr_t end) const {
    return {begin, std::min({end, pages_.end, end_of_piece(begin, options_.piece_bytes)})};
  }
  // Reads the pages into memory.
  void populate(PageRange range) const {
    for (uintptr_t from = range.begin; from < range.end;) {
      const int64_t some = std::min(kPopulatedAtOnce, PageRange{from, range.end}.bytes());
      ramet::populate(at(from), some, {.writable = array_.writable, .threads = options_.threads});
      from += static_cast<uintptr_t>(some);
      report(from);
    }
  }
  // All pages before `end` are there.
  void report(uintptr_t end) const {
    if (options_.progress) options_.progress(PageRange{pages_.begin, end}.bytes(), pages_.bytes());
  }

 private:
  const Array& array_;
  const RegistrationOptions& options_;
  const PageRange pages_;
};

class Pieces {
 public:
  // The beginnings of the pieces that cover the request's array, each held once more.
  std::vector<uintptr_t> hold(const Request& request) {
    const PageRange pages = request.pages();
    std::vector<uintptr_t> held;
    try {
      for (uintptr_t from = pages.begin; from < pages.end;) {
        held.reserve(held.size() + 1);
        const auto piece = hold_at(request, from);
        held.push_back(piece.begin);
        from = piece.end;
        request.report(std::min(from, pages.end));
      }
    } catch (...) {
      release(held);
      throw;
    }
    return held;
  }

  void release(const std::vector<uintptr_t>& held) {
    for (const uintptr_t begin : held)
      release_at(begin);
  }

  int64_t bytes() {
    const std::lock_guard lock(mutex_);
    int64_t sum = 0;
    for (const auto& [begin, piece] : pieces_)
      sum += piece.locked.bytes();
    return sum;
  }

 private:
  struct Piece {
    uintptr_t end;
    bool writable;
    std::shared_ptr<const void> owner;
    PageRange locked = {};  // by us; the rest by others
    int64_t holders = 0;
    bool is_changing = true;
  };
  using Map = std::map<uintptr_t, Piece>;  // by beginning
  using Lock = std::unique_lock<std::mutex>;

  // Holds the piece at `from`, after locking it if there is none.
  PageRange hold_at(const Request& request, uintptr_t from) {
    Lock lock(mutex_);
    auto next = pieces_.upper_bound(from);
    while (next != pieces_.begin() && from < std::prev(next)->second.end) {
      const auto found = std::prev(next);
      if (!found->second.is_changing) return share(found, request.array());
      changed_.wait(lock);
      next = pieces_.upper_bound(from);
    }
    const PageRange gap =
        request.next_piece(from, next == pieces_.end() ? request.pages().end : next->first);
    lock_new(request, gap, lock);
    return gap;
  }

  // Enters a piece, and locks its pages with the mutex open.
  void lock_new(const Request& request, PageRange gap, Lock& lock) {
    const Array& array = request.array();
    const auto piece =
        pieces_.emplace(gap.begin, Piece{gap.end, array.writable, array.owner}).first;
    lock.unlock();
    try {
      const PageRange locked = lock_pages(request, gap);
      lock.lock();
      piece->second.locked = locked;
      piece->second.holders = 1;
      piece->second.is_changing = false;
      changed_.notify_all();
    } catch (...) {
      lock.lock();
      pieces_.erase(piece);
      changed_.notify_all();
      throw;
    }
  }

  static PageRange share(Map::iterator piece, const Array& array) {
    const auto& [begin, found] = *piece;
    if (array.writable && !found.writable)
      throw_invalid("kernels are to write ", array.describe(),
                    ", but a part of its pages is locked for reading alone by somebody else");
    ++piece->second.holders;
    return {begin, found.end};
  }

  PageRange lock_pages(const Request& request, PageRange gap) {
    const PageRange range = without_others(request.array(), gap);
    if (range.bytes() == 0) return range;
    const CudaRuntime& runtime = require_cuda().runtime;
    const bool writable = request.array().writable;
    std::optional<WritablePages> pages;
    if (!writable && !runtime.registers_read_only()) pages.emplace(at(range.begin), range.bytes());
    if (!pages || pages->why_not().empty()) request.populate(range);  // else it is refused
    try {
      runtime.register_host(at(range.begin), range.bytes(), writable);
    } catch (const Error& reason) {
      throw refusal(
          {request.array(), at(range.begin), range.bytes(), bytes(), pages ? pages->why_not() : ""},
          reason);
    }
    return range;
  }

  void release_at(uintptr_t begin) {
    std::shared_ptr<const void> owner;  // dies when the mutex is open again
    Lock lock(mutex_);
    const auto piece = pieces_.find(begin);
    if (--piece->second.holders > 0) return;
    piece->second.is_changing = true;
    const PageRange locked = std::exchange(piece->second.locked, {});
    lock.unlock();
    if (locked.bytes() > 0) require_cuda().runtime.unregister_host(at(locked.begin));
    lock.lock();
    owner = std::move(piece->second.owner);
    pieces_.erase(piece);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
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
  explicit Hold(const Request& request) : held_(pieces().hold(request)) {}
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() {
    if (getpid() == process_) pieces().release(held_);
  }

  // The beginnings of its pieces.
  [[nodiscard]] const std::vector<uintptr_t>& pieces_held() const { return held_; }

 private:
  const pid_t process_ = getpid();
  std::vector<uintptr_t> held_;
};

HostRegistration::HostRegistration(const Array& array, const RegistrationOptions& options)
    : array_(array) {
  if (array.device != kHost) {
    throw_invalid("cannot page-lock ", array.describe(), ": it lies in memory of device ",
                  array.device);
  }
  static_cast<void>(require_cuda());
  if (array.bytes() > 0) hold_ = std::make_shared<const Hold>(Request(array, options));
}

void* HostRegistration::address(int device) const {
  if (array_.bytes() == 0) return nullptr;
  const CudaRuntime& runtime = require_cuda().runtime;
  const uintptr_t first = address_of(array_);
  auto* const there = static_cast<char*>(runtime.device_address(device, array_.data));
  const auto require_beside = [&](uintptr_t byte) {
    if (runtime.device_address(device, at(byte)) == there + (byte - first)) return;
    throw_error(ErrorCode::kDevice, "device ", device, " sees the pages of ", array_.describe(),
                ", which were page-locked in pieces, at separate addresses");
  };
  for (const uintptr_t piece : hold_->pieces_held())
    require_beside(std::max(piece, first));
  require_beside(first + static_cast<uintptr_t>(array_.bytes()) - 1);
  return there;
}

int64_t HostRegistration::registered_bytes() {
  return pieces().bytes();
}

}  // namespace ramet
