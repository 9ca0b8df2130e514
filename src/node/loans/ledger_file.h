// The ledger on the disk. Both functions block.
#pragma once

#include <string>

#include "src/node/loans/ledger.h"
#include "src/platform/base/status.h"

namespace kgpu::loans {

// An empty ledger if there is no file. A file that is no ledger stays as it is, so that nothing is
// lent twice. Errors: InvalidArgument (no ledger, with the fix), PermissionDenied, …
StatusOr<Ledger> LoadLedger(const std::string& path);

// Replaces the file and waits for the disk; makes its folder if there is none. Errors:
// ResourceExhausted (full), PermissionDenied, FailedPrecondition (read-only), … After an error that
// SyncFolder met, the file may be the new one.
Status SaveLedger(const std::string& path, const Ledger& ledger);

}  // namespace kgpu::loans
