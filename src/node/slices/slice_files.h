// Makes the files that containers with memory slices get.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "src/node/pools/assignment.h"
#include "src/node/sharing/slice_paths.h"
#include "src/platform/base/status.h"
#include "src/preload/ledger.h"

namespace kgpu::slices {

// Size of a ledger.
inline constexpr size_t kLedgerBytes = preload::kLedgerSize;

// A slot with a limit on device memory.
struct SliceSlot {
  std::string id;           // "GPU-…::3"
  std::string device_uuid;  // of the GPU or MIG device
  Bytes memory{};
  sharing::Share share{};       // what else the limit counts
  unsigned compute = 0;         // percent of the device's time; 0: no share
  unsigned compute_before = 0;  // the sum of the shares of the device's slots before it
  bool operator==(const SliceSlot&) const = default;
};

// The slices of an assignment, in its order.
std::vector<SliceSlot> SlicesOf(const pools::Assignment& assignment);

// What the library in the container reads: lines of a key and a value.
std::string LimitsText(const SliceSlot& slot);

struct SliceFilesOptions {
  std::string library;  // libkgpu-share.so, by this process's path; empty: it is not installed
  std::string folder;   // of the files, by this process's path; created if it is missing
  std::string engine_folder;  // the same as container engines call it
  // With SELinux, containers may only use files with their own label.
  bool has_selinux = false;
  // Files of slots that no longer exist are kept, since their devices may come back while their
  // containers run; the oldest beyond this number are removed. Those of 64 slots take 6 MiB.
  size_t most_kept = 192;
};

// NotFound: this installation has no library, with the fix.
Status NoLibrary();

// Copies the library and writes limits and ledgers of `slots`. A file that changes is replaced:
// running containers keep what they have mounted, and one that is started again gets the new one. A
// ledger that exists stays, since a container may use it, unless its slot is in `new_tenants`.
// Blocks on the disk. Errors: NotFound (no library), FailedPrecondition (no program could load it,
// or the folder does not allow programs to be mapped), PermissionDenied, ResourceExhausted (full).
StatusOr<sharing::SlicePaths> WriteSliceFiles(const SliceFilesOptions& options,
                                              const std::vector<SliceSlot>& slots,
                                              const std::set<std::string>& new_tenants = {});

// Before another container gets the slots: puts new ledgers in the place of the old ones, so that
// nothing that a former tenant has done or still holds (descriptors, locks, mode, length) is the
// new one's. Any thread. Blocks on the disk. Errors: as above.
Status RenewLedgers(const SliceFilesOptions& options, std::span<const std::string> slot_ids);

}  // namespace kgpu::slices
