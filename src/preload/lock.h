// A lock between the threads of one process that needs no library: all zero is free.
#pragma once

#include <cstdint>

namespace kgpu::preload {

// Waits with a futex; never spins. Source: futex(2).
class Mutex {
 public:
  void Lock();
  void Unlock();

 private:
  uint32_t word_;  // 0 free, 1 held, 2 held and waited for
};

class Guard {
 public:
  explicit Guard(Mutex& mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~Guard() { mutex_.Unlock(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  Mutex& mutex_;
};

// Waits until `word` changes from `value`, somebody wakes, or `milliseconds` are over (0: no end).
// `is_shared`: other processes map the word, too. errno stays.
void FutexWait(uint32_t* word, uint32_t value, uint32_t milliseconds, bool is_shared);
void FutexWakeOne(uint32_t* word, bool is_shared);

}  // namespace kgpu::preload
