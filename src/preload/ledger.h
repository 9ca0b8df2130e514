// The layout of a slot's file `ledger`: who in a container uses how much memory of the slot's GPU.
//
// All processes of the container map the file and write it; the agent may read it. It is plain C,
// fixed in size and versioned. A container can write anything into its ledger: a reader takes what
// it finds for a claim of the container, and compares it with the driver's own numbers. It reads
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
inline constexpr uint32_t kLedgerVersion = 1;
inline constexpr uint32_t kLedgerEntries = 1024;
inline constexpr uint32_t kLedgerExports = 256;
inline constexpr uint64_t kMaxLedgerBytes = uint64_t{1} << 50;  // more is impossible

struct LedgerHeader {
  uint32_t magic;
  uint32_t version;
  uint32_t lock;      // 0 free; else the number of the holder's entry plus 1, and kLockIsAwaited
  uint32_t scanned;   // entries from this one on have never been used
  uint64_t total;     // bytes: the sum of `used` of all entries
  uint64_t limit;     // bytes, as the last process read it from the limits
  uint64_t refused;   // charges that were refused
  uint64_t sweeps;    // times that dead entries were looked for
  uint64_t repaired;  // times that impossible values were replaced
  uint64_t peak;      // bytes: the largest total so far
  uint64_t waited;    // nanoseconds that launches have waited for their share of the time
  uint64_t spare[7];
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

// Memory that a process has offered to others: whoever of this container opens it is not charged
// again. `name` is a hash of the handle, 0 if the place is free.
struct LedgerExport {
  uint64_t name;
  uint64_t size;  // bytes
  uint32_t entry;
  uint32_t more;  // equal offers of the same process beyond this one
};
static_assert(sizeof(LedgerExport) == 24);

struct Ledger {
  LedgerHeader header;
  LedgerEntry entries[kLedgerEntries];
  LedgerExport exports[kLedgerExports];
};
inline constexpr size_t kLedgerSize = sizeof(Ledger);
static_assert(kLedgerSize == 71808);

}  // namespace kgpu::preload
