// The form in which a ledger is kept in a file: lines of text that end with a count, so that a torn
// file is known as one.
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
  uint64_t bad_lines = 0;  // left out
};

std::string PrintLedger(uint64_t generation, const Ledger& ledger);
// A line of use that says nothing is left out; the rest counts. Errors: InvalidArgument "line N: …"
// (no file of usage, another version of it, or torn).
StatusOr<LedgerFile> ParseLedger(std::string_view text);

}  // namespace kgpu::usage
