// The files of a ledger: one that is written now and then, whole, and one with what has come since,
// which is small and written often.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/node/usage/ledger.h"
#include "src/platform/base/status.h"

namespace kgpu::usage {

// What files hold. Crash-safe: whatever is killed when, nothing is counted twice, and what is lost
// is what came after the last write.
struct Kept {
  Ledger ledger{};  // everything
  Ledger recent{};  // the part that only the file of recent things has
  // Of the file of everything. A file of recent things with another one is in it already.
  uint64_t generation = 0;
  // A file that is none of usage is put aside ("ledger.bad"; older ones are "ledger.bad.1" and
  // "ledger.bad.2"); what is left is still there.
  Status problem{};
};

// Blocks on the disk. Errors: PermissionDenied, ResourceExhausted, … when the files are there and
// cannot be read now; nothing was changed.
StatusOr<Kept> LoadLedger(const std::string& folder);

// One write, made on the loop and done wherever disks may be waited for.
struct LedgerWrite {
  enum class Kind : uint8_t {
    kAll,     // the file of everything
    kRecent,  // what is not in that file, whose generation is `generation`; a power cut may take it
    kMore,    // everything, once the files have been read: `ledger` is not in them yet
  };
  Kind kind = Kind::kAll;
  std::string folder{};  // made when it is not there
  uint64_t generation = 0;
  std::shared_ptr<const Ledger> ledger{};

  // Errors: as ErrnoStatus; kMore: as LoadLedger.
  Status Do() const;
};

}  // namespace kgpu::usage
