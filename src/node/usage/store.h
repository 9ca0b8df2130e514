// The files of a ledger: a complete one that is written rarely, and a small one with later changes
// that is written often.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/node/usage/ledger.h"
#include "src/platform/base/status.h"

namespace kgpu::usage {

// The content of the files. Crash-safe: whenever a process is killed, nothing is counted twice, and
// only what came after the last write is lost.
struct Kept {
  Ledger ledger{};  // everything
  Ledger recent{};  // the part that is only in the file of recent changes
  // Of the complete file, which already includes recent files with another generation.
  uint64_t generation = 0;
  // A file that is no usage file is moved aside ("ledger.bad"; older ones are "ledger.bad.1" and
  // "ledger.bad.2"); the rest is still loaded.
  Status problem{};
};

// Blocks on the disk. Errors: PermissionDenied, ResourceExhausted, … if the files exist but are
// unreadable now; nothing was changed.
StatusOr<Kept> LoadLedger(const std::string& folder);

// One write, created on the loop and done where waiting for disks is allowed.
struct LedgerWrite {
  enum class Kind : uint8_t {
    kAll,     // the complete file
    kRecent,  // what the complete file `generation` lacks; a power cut may lose it
    kMore,    // everything, after reading the files: `ledger` is not in them yet
  };
  Kind kind = Kind::kAll;
  std::string folder{};  // created if it does not exist
  uint64_t generation = 0;
  std::shared_ptr<const Ledger> ledger{};

  // Errors: as ErrnoStatus; kMore: as LoadLedger.
  Status Do() const;
};

}  // namespace kgpu::usage
