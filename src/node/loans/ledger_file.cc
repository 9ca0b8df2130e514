#include "src/node/loans/ledger_file.h"

#include <sys/types.h>

#include <string_view>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/state_file.h"

namespace kgpu::loans {
namespace {

// Only root may read who uses which GPU.
constexpr mode_t kLedgerMode = 0600;

sys::StateFile FileAt(const std::string& path) {
  return {path, {.most_bytes = kMaxLedgerBytes, .mode = kLedgerMode}};
}

}  // namespace

StatusOr<Ledger> LoadLedger(const std::string& path) {
  auto ledger = FileAt(path).Read([&](std::string_view text) { return ParseLedger(text, path); });
  if (ledger.ok()) {
    return std::move(*ledger).value_or(Ledger());
  }
  if (sys::StateFile::IsDamage(ledger.status())) {
    return InvalidArgument("{}: end the containers that have borrowed GPUs, then remove the file",
                           Message(ledger.status()));
  }
  return Annotate(ledger.status(), "read which GPUs are lent");
}

Status SaveLedger(const std::string& path, const Ledger& ledger) {
  return FileAt(path).Write(PrintLedger(ledger));
}

StatusOr<size_t> EndLoansInFile(const std::string& path, std::string_view holder) {
  ASSIGN_OR_RETURN(const Ledger before, LoadLedger(path));
  Ledger ledger = before;
  for (const Loan& loan : before.loans()) {
    if (loan.holder.starts_with(holder)) {
      ledger.Remove(loan.id);
    }
  }
  const size_t ended = before.loans().size() - ledger.loans().size();
  if (ended > 0) {
    RETURN_IF_ERROR(SaveLedger(path, ledger));
  }
  return ended;
}

}  // namespace kgpu::loans
