// DerivedArrays: what samplers of this process make of a graph's arrays to be faster, once it pays.
// No result depends on it.
//
// It owns what was made, and frees it with the last copy of the graph. Any thread may use it, and
// none waits: while one makes a value, others go on without. So a forked child can use it, too. It
// has what was made before the fork.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace ramet {

class DerivedArrays {
 public:
  // A value that may not be there yet, and work that was done without it.
  class Slot {
   public:
    explicit Slot(std::string name) : name_(std::move(name)) {}

    // nullptr as long as there is none. T is the type that make() gives.
    template <typename T>
    [[nodiscard]] const T* get() const {
      return static_cast<const T*>(ready_.load(std::memory_order_acquire));
    }

    // Adds to the work. The call that reaches `worth` calls make(), once, for a shared_ptr of a T
    // with bytes(). Of nullptr, or where memory does not suffice, the slot stays empty.
    template <typename Make>
    void add_work(int64_t work, int64_t worth, Make&& make) {
      const int64_t before = work_.fetch_add(work, std::memory_order_relaxed);
      if (before >= worth || before + work < worth) return;
      try {
        const auto made = make();
        if (made == nullptr) return;
        bytes_ = made->bytes();
        value_ = made;
        ready_.store(value_.get(), std::memory_order_release);
      } catch (const std::bad_alloc&) {
      }
    }

   private:
    friend class DerivedArrays;
    const std::string name_;
    std::atomic<int64_t> work_{0}, bytes_{0};
    std::atomic<const void*> ready_{nullptr};
    std::shared_ptr<const void> value_;  // what ready_ points to
    Slot* next_ = nullptr;
  };

  DerivedArrays() = default;
  DerivedArrays(const DerivedArrays&) = delete;
  DerivedArrays& operator=(const DerivedArrays&) = delete;
  ~DerivedArrays();

  // The one of that name, for as long as this lives.
  [[nodiscard]] Slot& slot(const std::string& name);

  // Of all that was made.
  [[nodiscard]] int64_t bytes() const;

 private:
  std::atomic<Slot*> first_{nullptr};
};

}  // namespace ramet
