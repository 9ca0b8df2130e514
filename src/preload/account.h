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

  // Maps the file at `path` and takes an entry of it. Returns null, or what is wrong; `error`
  // then gets the errno, 0 if there is none.
  const char* Open(const char* path, uint64_t limit, int* error = nullptr);
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

  // Offers `size` bytes, which we are charged for, to other processes; `name` must not be 0. Not
  // remembered without room, or while the name stands for memory of earlier: who opens it pays.
  void Offer(uint64_t name, uint64_t size);
  // Takes back one offer; equal ones are counted. What others claim of it is charged from now on.
  // Call it before the memory is given back.
  void Withdraw(uint64_t name);
  // Claims what a live process of this container offers under the name. False: nobody does, or
  // there is no room; who opens the memory then charges it.
  bool Claim(uint64_t name);
  // Gives up one claim.
  void Unclaim(uint64_t name);

  uint64_t mine() const { return mine_; }
  uint32_t entry() const { return entry_; }
  Ledger* ledger_for_test() { return ledger_; }
  bool LockForTest() { return Lock(); }

 private:
  // A claim of ours, so that a ledger that was overwritten gets it again.
  struct OwnClaim {
    uint64_t name;
    uint64_t size;
    uint32_t uses;
  };

  bool Lock();
  bool TakeLock();
  void Unlock();
  // Whether the file is shorter than what is mapped of it: a look there would end the process.
  bool IsCut();
  // Of bytes that are charged or given back while the ledger cannot be locked.
  void AddLate(int64_t bytes);
  void SettleLate();
  // With our entry's byte locked, and before any other thread of ours knows the ledger.
  void EndLockOfDead();
  // Null, or what is wrong.
  const char* TakeEntry();
  const char* Prepare(const char* path);
  bool IsLocked(uint64_t offset) const;
  bool IsAlive(uint32_t entry) const;
  bool IsHolderDead(uint32_t holder) const;
  void WriteEntry();
  // With the lock held: nobody has the entry.
  void Clear(uint32_t entry);
  void Sweep();
  void Check();
  bool Fits(uint64_t bytes);

  // Shares, with the lock held.
  uint32_t ShareCount() const;
  LedgerShare* FindShare(uint64_t name, uint32_t entry, bool is_claim);
  // Of a live process, be it ours.
  const LedgerShare* FindOffer(uint64_t name);
  bool HasShare(uint64_t name) const;
  LedgerShare* FreePlace();
  OwnClaim* FindOwn(uint64_t name);
  bool AddOwn(const OwnClaim& claim);
  bool WriteClaim(const OwnClaim& claim);
  uint64_t CheckShares();
  uint64_t SumUnoffered() const;
  static uint64_t OffsetOf(uint32_t entry);

  Ledger* ledger_;
  uint64_t limit_;
  uint64_t mine_;     // what our entry must say
  OwnClaim* claims_;  // null: none yet
  uint32_t claim_count_;
  bool is_cut_reported_;
  int64_t late_;
  uint64_t pid_namespace_;
  uint64_t start_time_;
  uint64_t inode_;  // of the ledger, as /proc/PID/maps shows it
  int32_t pid_;
  int descriptor_;
  uint32_t entry_;
};

}  // namespace kgpu::preload
