// Makes the files that containers with memory slices get.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/node/pools/assignment.h"
#include "src/node/share/slice_paths.h"
#include "src/platform/base/status.h"
#include "src/preload/ledger.h"

namespace kgpu::share {

// Size of a ledger.
inline constexpr size_t kLedgerBytes = preload::kLedgerSize;

// A slot with a limit on device memory.
struct SliceSlot {
  std::string id;           // "GPU-…::3"
  std::string device_uuid;  // of the GPU or MIG device
  Bytes memory{};
  config::Share share{};        // what else the limit counts
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
  // Files of slots that no longer exist are kept, since their containers may start again; the
  // oldest beyond this number are removed.
  size_t most_kept = 4'096;
};

// Copies the library and writes limits and ledgers of `slots`. A file that changes is replaced:
// running containers keep what they have mounted, and one that is started again gets the new one. A
// ledger that exists stays: a container may use it. Blocks on the disk. Errors: NotFound (no
// library), FailedPrecondition (the folder does not allow programs to be mapped), PermissionDenied,
// ResourceExhausted (full).
StatusOr<SlicePaths> WriteSliceFiles(const SliceFilesOptions& options,
                                     const std::vector<SliceSlot>& slots);

}  // namespace kgpu::share
