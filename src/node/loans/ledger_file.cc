#include "src/node/loans/ledger_file.h"

#include <filesystem>
#include <system_error>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/root.h"

namespace kgpu::loans {
namespace {

// Root alone: who is using what is nobody else's business.
constexpr mode_t kLedgerMode = 0600;

}  // namespace

StatusOr<Ledger> LoadLedger(const std::string& path) {
  const std::filesystem::path whole(path);
  const auto folder = sys::Root::Open(whole.parent_path().string());
  const auto text =
      folder.ok() ? folder->ReadFile(whole.filename().string(), kMaxLedgerBytes) : folder.status();
  if (text.status().code() == StatusCode::kNotFound) {
    return Ledger();
  }
  if (!text.ok()) {
    return Annotate(text.status(), "read which GPUs are lent");
  }
  auto ledger = ParseLedger(*text, path);
  if (!ledger.ok()) {
    return InvalidArgument("{}: end the containers that have borrowed GPUs, then remove the file",
                           Message(ledger.status()));
  }
  return ledger;
}

Status SaveLedger(const std::string& path, const Ledger& ledger) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (std::filesystem::create_directories(folder, error); error) {
    return ErrnoStatus(error.value(), fmt::format("make {}", folder.string()));
  }
  return sys::WriteFileAtomically(path, PrintLedger(ledger), kLedgerMode);
}

}  // namespace kgpu::loans
