#include "src/preload/lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace kgpu::preload {

void FutexWait(uint32_t* word, uint32_t value, uint32_t milliseconds, bool is_shared) {
  const int error = errno;
  const timespec limit{.tv_sec = milliseconds / 1000,
                       .tv_nsec = static_cast<long>(milliseconds % 1000) * 1000000};
  syscall(SYS_futex, word, is_shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, value,
          milliseconds == 0 ? nullptr : &limit, nullptr, 0);
  errno = error;
}

void FutexWakeOne(uint32_t* word, bool is_shared) {
  const int error = errno;
  syscall(SYS_futex, word, is_shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  errno = error;
}

void Mutex::Lock() {
  uint32_t seen = 0;
  if (__atomic_compare_exchange_n(&word_, &seen, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    return;
  }
  while (__atomic_exchange_n(&word_, 2, __ATOMIC_ACQUIRE) != 0) {
    FutexWait(&word_, 2, 0, false);
  }
}

void Mutex::Unlock() {
  if (__atomic_exchange_n(&word_, 0, __ATOMIC_RELEASE) == 2) {
    FutexWakeOne(&word_, false);
  }
}

}  // namespace kgpu::preload
