// System calls that a process is refused, as by a container, an older kernel, or one that is short
// of memory.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ramet::test {

// The threads that there are, or the one that calls. Those they start are refused the same.
enum class Refused { kAll, kCaller };

// From now on threads get `error` for the system call `number`, or where `second` is given for
// calls with that second argument alone. For forked children: nothing takes it back. False where
// this machine cannot do it.
inline bool refuse_calls(long number,
                         int error,
                         Refused threads = Refused::kAll,
                         std::optional<unsigned> second = {}) {
  const auto load = [](size_t at) {
    return sock_filter(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(at)));
  };
  const auto unless = [](unsigned value, uint8_t skipped) {
    return sock_filter(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped));
  };
  const auto refused = SECCOMP_RET_ERRNO | static_cast<unsigned>(error);
  std::vector<sock_filter> filter{load(offsetof(seccomp_data, nr))};
  filter.push_back(unless(static_cast<unsigned>(number), second ? 3 : 1));
  if (second) {
    filter.push_back(load(offsetof(seccomp_data, args[1])));  // its low word: little-endian
    filter.push_back(unless(*second, 1));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, refused));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  const unsigned long flags = threads == Refused::kAll ? SECCOMP_FILTER_FLAG_TSYNC : 0;
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0;
}

// The one by which a kernel is asked what an io_uring can do: Linux has it since 5.6.
inline bool refuse_probing(int error) {
  constexpr unsigned kRegisterProbe = 8;
  return refuse_calls(SYS_io_uring_register, error, Refused::kAll, kRegisterProbe);
}

}  // namespace ramet::test
