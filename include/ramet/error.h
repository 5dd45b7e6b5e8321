// Error: the only exception type that Ramet throws. Its message names the value, the bound
// and the location (file, array, position); its code says which kind of failure it is, so that
// a binding can map it to its language's exceptions. A call that throws has had no effect.
#pragma once

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace ramet {

enum class ErrorCode {
  kInvalidArgument,  // a value that is never valid: fanout -2, batch size 0
  kOutOfRange,       // an id beyond its bound
  kNotFound,         // no such file, table, split or type
  kCorrupt,          // a store whose bytes contradict each other
  kIo,               // the operating system refused
  kNoSpace,          // disk or memory, also of a device, would not hold it
  kDevice,           // a GPU, or its driver, is not there or refused
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message, int system_errno = 0)
      : std::runtime_error(message), code_(code), system_errno_(system_errno) {}

  [[nodiscard]] ErrorCode code() const { return code_; }
  // The errno behind kIo, kNoSpace and a kNotFound that is about files, else 0.
  [[nodiscard]] int system_errno() const { return system_errno_; }

 private:
  ErrorCode code_;
  int system_errno_;
};

// The parts one after the other: strings, characters, and numbers, of floating point in the fewest
// digits that give the same number.
template <typename... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  std::string text;
  const auto append = [&text](const auto& part) {
    using Type = std::decay_t<decltype(part)>;
    static_assert(!std::is_same_v<Type, bool>);
    if constexpr (std::is_floating_point_v<Type>) {
      char digits[32];  // a double takes at most 24
      text += std::string(digits, std::to_chars(digits, digits + sizeof digits, part).ptr);
    } else if constexpr (std::is_integral_v<Type> && !std::is_same_v<Type, char>) {
      text += std::to_string(part);
    } else {
      text += part;
    }
  };
  (append(parts), ...);
  return text;
}

// Throws an Error whose message is concat(parts...).
template <typename... Parts>
[[noreturn]] void throw_error(ErrorCode code, const Parts&... parts) {
  throw Error(code, concat(parts...));
}
template <typename... Parts>
[[noreturn]] void throw_invalid(const Parts&... parts) {
  throw_error(ErrorCode::kInvalidArgument, parts...);
}
// A store whose bytes contradict each other: "<location>: <what>".
template <typename... Parts>
[[noreturn]] void throw_corrupt(std::string_view location, const Parts&... what) {
  throw_error(ErrorCode::kCorrupt, location, ": ", what...);
}
// The same of one entry of an array: "<location>, entry 7: 9 is outside [0, 3)".
template <typename... Parts>
[[noreturn]] void throw_corrupt_entry(std::string_view location,
                                      int64_t position,
                                      int64_t value,
                                      const Parts&... what) {
  throw_error(ErrorCode::kCorrupt, location, ", entry ", position, ": ", value, " ", what...);
}

// The check of every position that a caller names: a step, a rank, a type, a part.
// Throws kOutOfRange, "step is 7, outside [0, 3)", unless 0 <= index < bound.
inline void require_index(int64_t index, int64_t bound, const char* what) {
  if (0 <= index && index < bound) return;
  throw_error(ErrorCode::kOutOfRange, what, " is ", index, ", outside [0, ", bound, ")");
}

}  // namespace ramet
