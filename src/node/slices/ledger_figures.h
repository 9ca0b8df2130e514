// What a container's ledger claims: figures for people. The container can write anything there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::slices {

struct LedgerFigures {
  uint64_t refused = 0;    // allocations, since the ledger was made
  uint64_t waited_ns = 0;  // of launches for their share of the time, since then
  bool operator==(const LedgerFigures&) const = default;
};

// From a ledger's first bytes. Nothing: no library has written it yet, or it is none of our
// version. Source: preload::LedgerHeader.
std::optional<LedgerFigures> ParseLedgerFigures(std::string_view bytes);

// Reads them from a file. Blocks on the disk. Errors: NotFound, …; FailedPrecondition (no figures).
StatusOr<LedgerFigures> ReadLedgerFigures(const std::string& path);

}  // namespace kgpu::slices
