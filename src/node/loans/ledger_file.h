// The ledger on the disk. Both functions block.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "src/node/loans/ledger.h"
#include "src/platform/base/status.h"

namespace kgpu::loans {

inline constexpr char kLedgerFile[] = "loans.json";  // in the agent's state folder

// An empty ledger if there is no file. A file that is no ledger stays as it is, so that nothing is
// lent twice. Errors: InvalidArgument (no ledger, with the fix), PermissionDenied, …
StatusOr<Ledger> LoadLedger(const std::string& path);

// Replaces the file and waits for the disk; makes its folder if there is none. Errors:
// ResourceExhausted (full), PermissionDenied, FailedPrecondition (read-only), … After an error that
// SyncFolder met, the file may be the new one.
Status SaveLedger(const std::string& path, const Ledger& ledger);

// Ends the loans whose holders begin with `holder`: only where no agent runs, which would not
// notice. Gives their number. Errors: those of both.
StatusOr<size_t> EndLoansInFile(const std::string& path, std::string_view holder);

}  // namespace kgpu::loans
