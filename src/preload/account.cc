#include "src/preload/account.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "src/preload/lock.h"
#include "src/preload/system.h"
#include "src/preload/text.h"

namespace kgpu::preload {
namespace {

constexpr uint64_t kPatience = 10000;  // milliseconds
constexpr uint32_t kFirstWait = 1;     // milliseconds, before the holder's life is looked at
constexpr uint32_t kNextWait = 10;     // milliseconds
constexpr uint32_t kFormerVersion = 1;

void ClearBytes(void* memory, size_t size) {
  auto* bytes = static_cast<volatile unsigned char*>(memory);
  for (size_t at = 0; at < size; ++at) {
    bytes[at] = 0;
  }
}

}  // namespace

uint64_t Account::OffsetOf(uint32_t entry) {
  return offsetof(Ledger, entries) + entry * sizeof(LedgerEntry);
}

bool Account::IsLocked(uint64_t offset) const {
  return IsByteLocked(descriptor_, offset);
}

// A held lock means life. A free one does not always mean death: a program may close descriptors
// that are not its own. Then the process is looked for; one that has called exec maps no ledger.
bool Account::IsAlive(uint32_t entry) const {
  if (entry == entry_ || IsLocked(OffsetOf(entry))) {
    return true;
  }
  const LedgerEntry& found = ledger_->entries[entry];
  return pid_namespace_ != 0 && found.pid_namespace == pid_namespace_ && found.pid > 0 &&
         found.start_time != 0 && StartTime(found.pid) == found.start_time &&
         HasMapped(found.pid, inode_);
}

bool Account::IsHolderDead(uint32_t holder) const {
  return holder == 0 || holder > kLedgerEntries || !IsAlive(holder - 1);
}

// The word names the holder, so that whoever waits can see that it has died, be it in another
// namespace or before the machine last started. A robust mutex of glibc would not tell either, and
// would need libpthread.so.0 in every process of releases before 2.34.
bool Account::TakeLock() {
  const uint32_t me = entry_ + 1;
  uint32_t* word = &ledger_->header.lock;
  uint32_t seen = 0;
  if (__atomic_compare_exchange_n(word, &seen, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    return true;
  }
  const uint64_t start = Milliseconds();
  for (uint32_t wait = 0; Milliseconds() - start < kPatience;
       wait = wait == 0 ? kFirstWait : kNextWait) {
    seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    const uint32_t holder = seen & ~kLockIsAwaited;
    const bool may_take = seen == 0 || (wait != 0 && holder != me && IsHolderDead(holder));
    if (may_take && __atomic_compare_exchange_n(word, &seen, me | kLockIsAwaited, false,
                                                __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
      if (holder != 0) {
        Check();
      }
      return true;
    }
    const uint32_t awaited = seen | kLockIsAwaited;
    if (seen != 0 &&
        (seen == awaited || __atomic_compare_exchange_n(word, &seen, awaited, false,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))) {
      FutexWait(word, awaited, wait == 0 ? kFirstWait : kNextWait, true);
    }
  }
  Line()
      .Add("the ledger has been locked for 10 seconds by entry ")
      .Add((seen & ~kLockIsAwaited) - 1)
      .Add(": end that process")
      .Say();
  return false;
}

bool Account::Lock() {
  if (IsCut() || !TakeLock()) {
    return false;
  }
  if (__atomic_load_n(&late_, __ATOMIC_RELAXED) != 0) {
    SettleLate();
  }
  return true;
}

// The program may have closed our descriptor, and opened another file by its number. Who cuts the
// file between this look and the next harms only its own container: each has a file of its own.
bool Account::IsCut() {
  const KeepErrno keep;
  FileFacts facts{};
  const bool is_ours = StatFile(descriptor_, &facts) && facts.inode == inode_;
  if (is_ours ? facts.size >= kLedgerSize : MayRead(ledger_, kLedgerSize)) {
    return false;
  }
  SayOnce(&is_cut_reported_,
          Line().Add("the ledger was cut short; no GPU memory is allocated until the agent has "
                     "made it whole again, within a minute"));
  return true;
}

void Account::AddLate(int64_t bytes) {
  __atomic_fetch_add(&late_, bytes, __ATOMIC_RELAXED);
}

void Account::SettleLate() {
  const int64_t late = __atomic_exchange_n(&late_, 0, __ATOMIC_RELAXED);
  const uint64_t less = late < 0 ? static_cast<uint64_t>(-late) : 0;
  mine_ += late > 0 ? static_cast<uint64_t>(late) : 0;
  mine_ -= less < mine_ ? less : mine_;
  Check();
}

void Account::Unlock() {
  uint32_t* word = &ledger_->header.lock;
  if ((__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) & kLockIsAwaited) != 0) {
    FutexWakeOne(word, true);
  }
}

// Whoever held the entry before us may have died with the lock before it had marked the entry,
// which then looks as if nobody had ever had it. What the lock's word says would be taken for
// ourselves.
void Account::EndLockOfDead() {
  uint32_t* word = &ledger_->header.lock;
  uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
  while ((seen & ~kLockIsAwaited) == entry_ + 1 &&
         !__atomic_compare_exchange_n(word, &seen, 0, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
  }
}

void Account::WriteEntry() {
  ledger_->entries[entry_] = {.is_used = 1,
                              .pid = pid_,
                              .pid_namespace = pid_namespace_,
                              .start_time = start_time_,
                              .used = mine_,
                              .spare = {}};
  if (ledger_->header.scanned <= entry_) {
    ledger_->header.scanned = entry_ + 1;
  }
}

// With the lock held: replaces impossible values and adds up. Each process knows its own share, so
// that a ledger that was overwritten is right again once all have charged or given back.
void Account::Check() {
  LedgerHeader& header = ledger_->header;
  uint64_t repairs = 0;
  const bool is_new = header.magic == 0 && header.version == 0 && header.total == 0;
  // Of the library before an upgrade: its container was started again with this one.
  const bool is_former = header.magic == kLedgerMagic && header.version == kFormerVersion;
  if (header.magic != kLedgerMagic || header.version != kLedgerVersion ||
      header.scanned > kLedgerEntries || header.shares > kLedgerShares) {
    ClearBytes(&ledger_->entries, sizeof(ledger_->entries) + sizeof(ledger_->shares));
    header.magic = kLedgerMagic;
    header.version = kLedgerVersion;
    header.scanned = 0;
    header.shares = 0;
    repairs += is_new || is_former ? 0 : 1;
  }
  WriteEntry();
  uint64_t sum = 0;
  for (uint32_t at = 0; at < header.scanned; ++at) {
    LedgerEntry& entry = ledger_->entries[at];
    if (entry.is_used > 1 || entry.used > kMaxLedgerBytes ||
        (entry.is_used == 0 && entry.used > 0)) {
      entry = LedgerEntry{};
      ++repairs;
    }
    sum += entry.used;
  }
  repairs += CheckShares();
  header.total = sum + SumUnoffered();
  header.limit = limit_;
  if (repairs > 0) {
    header.repaired += repairs;
    Line().Add("the ledger had impossible values and was put in order").Say();
  }
}

void Account::Clear(uint32_t entry) {
  ledger_->entries[entry] = LedgerEntry{};
  for (LedgerShare& share : ledger_->shares) {
    share = share.name != 0 && share.entry == entry ? LedgerShare{} : share;
  }
}

// With the lock held.
void Account::Sweep() {
  ++ledger_->header.sweeps;
  if (ledger_->header.scanned > kLedgerEntries) {
    Check();
  }
  for (uint32_t at = 0; at < ledger_->header.scanned; ++at) {
    if (ledger_->entries[at].is_used != 0 && !IsAlive(at)) {
      Clear(at);
    }
  }
  Check();
}

const char* Account::TakeEntry() {
  // First those that nobody has marked, which is nearly always enough.
  for (uint32_t at = 0; at < 2 * kLedgerEntries; ++at) {
    entry_ = at % kLedgerEntries;
    if (at < kLedgerEntries && ledger_->entries[entry_].is_used != 0) {
      continue;
    }
    if (!LockByte(descriptor_, OffsetOf(entry_))) {
      if (errno == EINVAL || errno == ENOLCK) {
        return "cannot be locked: want Linux 3.15 or later, and a local file system";
      }
      continue;
    }
    const uint32_t found = entry_;
    entry_ = kLedgerEntries;  // so that IsAlive does not take the entry for ours
    const bool is_taken = ledger_->entries[found].is_used == 1 && IsAlive(found);
    entry_ = found;
    if (!is_taken) {
      return nullptr;
    }
    UnlockByte(descriptor_, OffsetOf(entry_));
  }
  return "has an entry for each of 1,024 processes already: end some";
}

// Returns what is wrong, with errno, or null.
const char* Account::Prepare(const char* path) {
  descriptor_ = OpenFile(path, O_RDWR | O_NOFOLLOW);
  FileFacts facts{};
  if (descriptor_ < 0 || !StatFile(descriptor_, &facts)) {
    return "cannot be opened";
  }
  // Only ever longer: a shorter one would end those who have it mapped.
  if (facts.size < kLedgerSize && ftruncate(descriptor_, static_cast<off_t>(kLedgerSize)) != 0) {
    return "cannot be made longer";
  }
  inode_ = facts.inode;
  void* memory = mmap(nullptr, kLedgerSize, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) {
    return "cannot be mapped";
  }
  ledger_ = static_cast<Ledger*>(memory);
  return nullptr;
}

const char* Account::Open(const char* path, uint64_t limit, int* error) {
  Account made{};
  made.descriptor_ = -1;
  made.limit_ = limit;
  made.pid_ = static_cast<int32_t>(getpid());
  made.start_time_ = StartTime(0);
  made.pid_namespace_ = PidNamespace();
  const char* problem = made.Prepare(path);
  if (error != nullptr) {
    *error = problem == nullptr ? 0 : errno;
  }
  problem = problem != nullptr ? problem : made.TakeEntry();
  if (problem != nullptr) {
    made.Close();
    return problem;
  }
  made.EndLockOfDead();
  if (!made.Lock()) {
    made.Close();
    return "is locked";
  }
  made.Clear(made.entry_);
  made.Check();
  made.Unlock();
  Ledger* ledger = made.ledger_;
  made.ledger_ = nullptr;
  *this = made;
  // Last, since other threads look at it without a lock.
  __atomic_store_n(&ledger_, ledger, __ATOMIC_RELEASE);
  return nullptr;
}

void Account::Close() {
  if (ledger_ != nullptr) {
    (void)munmap(ledger_, kLedgerSize);
    ledger_ = nullptr;
  }
  if (claims_ != nullptr) {
    UnmapMemory(claims_, kLedgerShares * sizeof(OwnClaim));
    claims_ = nullptr;
    claim_count_ = 0;
  }
  CloseFile(descriptor_);
  descriptor_ = -1;
}

// With the lock held. What does not add up is put in order first.
bool Account::Fits(uint64_t bytes) {
  const LedgerHeader& header = ledger_->header;
  const LedgerEntry& entry = ledger_->entries[entry_];
  if (header.magic != kLedgerMagic || header.version != kLedgerVersion || entry.is_used != 1 ||
      entry.used != mine_ || entry.pid != pid_ || header.total < mine_ ||
      header.total > kMaxLedgerBytes) {
    Check();
  }
  return header.total <= limit_ && bytes <= limit_ - header.total;
}

Account::Outcome Account::Charge(uint64_t bytes) {
  if (!Lock()) {
    return kBroken;
  }
  bool is_ok = Fits(bytes);
  if (!is_ok) {
    Sweep();
    is_ok = Fits(bytes);
  }
  if (is_ok) {
    mine_ += bytes;
    ledger_->entries[entry_].used = mine_;
    LedgerHeader& header = ledger_->header;
    header.total += bytes;
    header.peak = header.total > header.peak ? header.total : header.peak;
  } else {
    ++ledger_->header.refused;
  }
  Unlock();
  return is_ok ? kCharged : kOverLimit;
}

void Account::ChargeAnyway(uint64_t bytes) {
  const uint64_t most = bytes < kMaxLedgerBytes ? bytes : kMaxLedgerBytes;
  if (!Lock()) {
    return AddLate(static_cast<int64_t>(most));
  }
  (void)Fits(0);
  mine_ += most <= kMaxLedgerBytes - mine_ ? most : kMaxLedgerBytes - mine_;
  Check();
  Unlock();
}

void Account::GiveBack(uint64_t bytes) {
  if (bytes == 0) {
    return;
  }
  if (!Lock()) {
    return AddLate(-static_cast<int64_t>(bytes < kMaxLedgerBytes ? bytes : kMaxLedgerBytes));
  }
  (void)Fits(0);
  const uint64_t given = bytes < mine_ ? bytes : mine_;
  mine_ -= given;
  ledger_->entries[entry_].used = mine_;
  LedgerHeader& header = ledger_->header;
  header.total -= given < header.total ? given : header.total;
  Unlock();
}

void Account::NoteWait(uint64_t nanoseconds) {
  if (!IsCut()) {
    __atomic_fetch_add(&ledger_->header.waited, nanoseconds, __ATOMIC_RELAXED);
  }
}

uint64_t Account::Used() {
  if (!Lock()) {
    return limit_;
  }
  Sweep();
  const uint64_t used = ledger_->header.total;
  Unlock();
  return used;
}

}  // namespace kgpu::preload
