// What one process does with one ledger: it has an entry, charges it and gives back.
#pragma once

#include <cstdint>

#include "src/preload/ledger.h"

namespace kgpu::preload {

// All zero is closed. Lives in memory that a fork wipes, so that a child starts with a closed one.
// Any thread; a method fails rather than wait for more than ten seconds.
class Account {
 public:
  enum Outcome : uint32_t { kCharged, kOverLimit, kBroken };

  // Maps the file at `path` and takes an entry of it. Returns null, or what is wrong.
  const char* Open(const char* path, uint64_t limit);
  bool is_open() const { return __atomic_load_n(&ledger_, __ATOMIC_ACQUIRE) != nullptr; }
  // Unmaps and gives up the entry; for tests, and for an Open that failed.
  void Close();

  // Adds `bytes` unless the container's sum would pass the limit. Entries of dead processes are
  // removed before anything is refused.
  Outcome Charge(uint64_t bytes);
  // Adds `bytes` even over the limit: for what the driver has already done.
  void ChargeAnyway(uint64_t bytes);
  void GiveBack(uint64_t bytes);
  // A launch has waited so long.
  void NoteWait(uint64_t nanoseconds);
  // Bytes that live processes use; exact.
  uint64_t Used();

  // An offer of `size` bytes to other processes; `name` must not be 0. Without room it is not
  // remembered, and whoever opens it is charged.
  void Offer(uint64_t name, uint64_t size);
  // Takes back one offer; equal ones are counted.
  void Withdraw(uint64_t name);
  // Whether a live process of this container other than us has offered `name`.
  bool IsOffered(uint64_t name);

  uint64_t mine() const { return mine_; }
  uint32_t entry() const { return entry_; }
  Ledger* ledger_for_test() { return ledger_; }
  bool LockForTest() { return Lock(); }

 private:
  bool Lock();
  void Unlock();
  // With our entry's byte locked, and before any other thread of ours knows the ledger.
  void EndLockOfDead();
  // Null, or what is wrong.
  const char* TakeEntry();
  bool Prepare(const char* path);
  bool IsLocked(uint64_t offset) const;
  bool IsAlive(uint32_t entry) const;
  bool IsHolderDead(uint32_t holder) const;
  void WriteEntry();
  // With the lock held: nobody has the entry.
  void Clear(uint32_t entry);
  void Sweep();
  void Check();
  bool Fits(uint64_t bytes);
  static uint64_t OffsetOf(uint32_t entry);

  Ledger* ledger_;
  uint64_t limit_;
  uint64_t mine_;  // what our entry must say
  uint64_t pid_namespace_;
  uint64_t start_time_;
  uint64_t inode_;  // of the ledger, as /proc/PID/maps shows it
  int32_t pid_;
  int descriptor_;
  uint32_t entry_;
};

}  // namespace kgpu::preload
