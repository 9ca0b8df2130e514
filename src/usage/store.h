// The files of a ledger: one that is written now and then, whole, and one with what has come since,
// which is small and written often.
#pragma once

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/usage/ledger.h"

namespace kgpu::usage {

// What files hold. Crash-safe: whatever is killed when, nothing is counted twice, and what is lost
// is what came after the last write.
struct Kept {
  Ledger ledger{};  // everything
  Ledger recent{};  // the part that only the file of recent things has
  // Of the file of everything. A file of recent things with another one is in it already.
  uint64_t generation = 0;
  // A file that can not be read is put aside ("ledger.bad"); what is left is still there.
  Status problem{};
};

Kept LoadLedger(const std::string& folder);

// One write, made on the loop and done wherever disks may be waited for.
struct LedgerWrite {
  std::string folder{};  // made when it is not there
  std::string name{};
  std::string text{};
  bool is_durable = true;  // false: may be lost by a power cut

  // Errors: as ErrnoStatus.
  Status Do() const;
};

LedgerWrite WriteOfAll(const std::string& folder, uint64_t generation, const Ledger& all);
// `recent`: what is not in the file of everything, whose generation is `generation`.
LedgerWrite WriteOfRecent(const std::string& folder, uint64_t generation, const Ledger& recent);

}  // namespace kgpu::usage
