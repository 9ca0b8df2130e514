// The file format of a ledger: lines of text that end with a count, so that a torn file is
// recognised.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/node/usage/ledger.h"
#include "src/platform/base/status.h"

namespace kgpu::usage {

struct LedgerFile {
  uint64_t generation = 0;
  Ledger ledger{};
  uint64_t bad_lines = 0;  // skipped
};

std::string PrintLedger(uint64_t generation, const Ledger& ledger);
// Skips invalid lines of use; the rest counts. Errors: InvalidArgument "line N: …" (not a usage
// file, another version, or torn).
StatusOr<LedgerFile> ParseLedger(std::string_view text);

}  // namespace kgpu::usage
