#include "group_thread.h"

namespace ramet::bind {
namespace {

Array borrow_tensor(const nb::object& tensor, int device) {
  return {.data = reinterpret_cast<void*>(nb::cast<uintptr_t>(tensor.attr("data_ptr")())),
          .dtype = DType::kUInt8,
          .shape = {nb::cast<int64_t>(tensor.attr("numel")())},
          .device = device};
}

// A message in Python's memory, which it keeps alive: a tensor on a device, else any array.
Message from_python(const nb::object& message, int device) {
  auto [bytes, data] = nb::cast<std::tuple<std::vector<int64_t>, nb::object>>(message);
  Array array = device == kHost ? borrow(nb::cast<AnyArray>(data)) : borrow_tensor(data, device);
  array.owner = std::shared_ptr<const void>(new nb::object(std::move(data)), [](const void* owner) {
    const GilAcquire gil;
    delete static_cast<const nb::object*>(owner);
  });
  return {std::move(bytes), std::move(array)};
}

}  // namespace

void PyTask::run(const nb::callable& exchange) const {
  const auto call = [&](const Message& message) {
    const GilAcquire gil;
    return from_python(exchange(to_python(message)), message.data.device);
  };
  const GilRelease release;
  task->run(call);
}

void PyTask::fail(const nb::object& error) const {
  std::exception_ptr as_cpp;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  try {
    nb::raise_python_error();
  } catch (...) {
    as_cpp = std::current_exception();
  }
  const GilRelease release;
  task->fail(std::move(as_cpp));
}

PyGroupThread::~PyGroupThread() {
  const GilAcquire gil;
  thread_.reset();
}

void PyGroupThread::submit(std::unique_ptr<SampleTask> task) {
  const GilAcquire gil;
  thread_.attr("submit")(PyTask{std::move(task)});
}

bool PyGroupThread::is_caller() const {
  const GilAcquire gil;
  return nb::cast<bool>(thread_.attr("is_caller")());
}

nb::tuple to_python(const Message& message) {
  return nb::make_tuple(message.bytes, to_python(message.data));
}

}  // namespace ramet::bind
