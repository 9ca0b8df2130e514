// The layout of a slot's file `ledger`: who in a container uses how much memory of the slot's GPU.
//
// All processes of the container map the file and write it; the agent may read it. It is plain C,
// fixed in size and versioned. A container can write anything into its ledger: a reader takes what
// it finds for what the container says, and compares it with the driver's own numbers. It reads
// with read(2): a file that the container cuts short would end whoever has mapped it.
//
// Who holds an entry holds an open-file-description lock (fcntl(2), F_OFD_SETLK) on the entry's
// first byte. The kernel releases it when the last process with that descriptor ends or calls exec,
// which is when it also closes the GPU's device nodes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kgpu::preload {

inline constexpr uint32_t kLedgerMagic = 0x4c50474b;  // "KGPL"
// Version 1 had the same header and entries, and offers without claims.
inline constexpr uint32_t kLedgerVersion = 2;
inline constexpr uint32_t kLedgerEntries = 1024;
inline constexpr uint32_t kLedgerShares = 1024;
inline constexpr uint64_t kMaxLedgerBytes = uint64_t{1} << 50;  // more is impossible

struct LedgerHeader {
  uint32_t magic;
  uint32_t version;
  uint32_t lock;      // 0 free; else the number of the holder's entry plus 1, and kLockIsAwaited
  uint32_t scanned;   // entries from this one on have never been used
  uint64_t total;     // bytes: `used` of all entries, and claims that nobody offers any more
  uint64_t limit;     // bytes, as the last process read it from the limits
  uint64_t refused;   // charges that were refused
  uint64_t sweeps;    // times that dead entries were looked for
  uint64_t repaired;  // times that impossible values were replaced
  uint64_t peak;      // bytes: the largest total so far
  uint64_t waited;    // nanoseconds that launches have waited for their share of the time
  uint32_t shares;    // places of shares from this one on have never been used
  uint32_t padding;
  uint64_t spare[6];
};
static_assert(sizeof(LedgerHeader) == 128);

inline constexpr uint32_t kLockIsAwaited = 1U << 31;

struct LedgerEntry {
  uint32_t is_used;
  int32_t pid;             // in the process's own namespace
  uint64_t pid_namespace;  // inode of /proc/self/ns/pid
  uint64_t start_time;     // field 22 of /proc/PID/stat: ticks since the machine started
  uint64_t used;           // bytes, contexts and counted host memory included
  uint64_t spare[4];
};
static_assert(sizeof(LedgerEntry) == 64);

// Memory that several processes of the container may have. Its maker pays, in `used`, and offers
// it; a process that opens it claims it. It may outlive the offer: it is then in the total once for
// all claims of that name.
struct LedgerShare {
  uint64_t name;  // 0 if the place is free
  uint64_t size;  // bytes
  uint32_t entry;
  uint16_t is_claim;  // 0: an offer
  uint16_t uses;      // equal ones of the process
};
static_assert(sizeof(LedgerShare) == 24);

struct Ledger {
  LedgerHeader header;
  LedgerEntry entries[kLedgerEntries];
  LedgerShare shares[kLedgerShares];
};
inline constexpr size_t kLedgerSize = sizeof(Ledger);
static_assert(kLedgerSize == 90240);

}  // namespace kgpu::preload
