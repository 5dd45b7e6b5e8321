// The thread of a group of ranks, which Python has, as the engine sees it.
#pragma once

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "gil.h"
#include "ramet/cooperative_loader.h"

namespace ramet::bind {

// A SampleTask as Python holds it.
struct PyTask {
  std::unique_ptr<SampleTask> task;

  // `exchange`: (bytes for each rank, uint8 array or tensor of a device) -> the same from each.
  void run(const nb::callable& exchange) const;
  // `error`: the Python exception that the loop is to see.
  void fail(const nb::object& error) const;
};

// Forwards to a Python object with submit(task) and is_caller().
class PyGroupThread final : public GroupThread {
 public:
  explicit PyGroupThread(nb::object thread) : thread_(std::move(thread)) {}
  ~PyGroupThread() override;
  PyGroupThread(const PyGroupThread&) = delete;
  PyGroupThread& operator=(const PyGroupThread&) = delete;

  void submit(std::unique_ptr<SampleTask> task) override;
  [[nodiscard]] bool is_caller() const override;

 private:
  nb::object thread_;
};

// (bytes for each rank, uint8 array of them all, or tensor of a device).
[[nodiscard]] nb::tuple to_python(const Message& message);

}  // namespace ramet::bind
