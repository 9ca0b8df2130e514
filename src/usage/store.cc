#include "src/usage/store.h"

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/base/status_macros.h"
#include "src/sys/atomic_file.h"
#include "src/sys/root.h"
#include "src/usage/ledger_text.h"

namespace kgpu::usage {
namespace {

constexpr char kAll[] = "ledger";
constexpr char kRecent[] = "recent";
// 400 days of a busy node.
constexpr size_t kLimit = size_t{64} << 20;
constexpr mode_t kMode = 0600;

// NotFound: there is none.
StatusOr<LedgerFile> ReadLedger(const std::string& folder, const char* name) {
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open(folder));
  ASSIGN_OR_RETURN(const std::string text, root.ReadFile(name, kLimit));
  StatusOr<LedgerFile> file = ParseLedger(text);
  if (!file.ok()) {
    return Annotate(file.status(), "{}/{}", folder, name);
  }
  return file;
}

Status ProblemOf(const Status& status) {
  return status.code() == StatusCode::kNotFound ? OkStatus() : status;
}

}  // namespace

Kept LoadLedger(const std::string& folder) {
  StatusOr<LedgerFile> all = ReadLedger(folder, kAll);
  StatusOr<LedgerFile> recent = ReadLedger(folder, kRecent);
  Kept kept;
  kept.problem = ProblemOf(all.status());
  if (all.ok()) {
    kept.generation = all->generation;
    kept.ledger = std::move(all->ledger);
  } else if (!kept.problem.ok()) {
    const std::string path = fmt::format("{}/{}", folder, kAll);
    (void)std::rename(path.c_str(), (path + ".bad").c_str());
  }
  if (!recent.ok()) {
    kept.problem.Update(ProblemOf(recent.status()));
    return kept;
  }
  if (!all.ok() || recent->generation == kept.generation) {
    kept.recent = std::move(recent->ledger);
    kept.ledger.Add(kept.recent);
  }
  if (!all.ok()) {
    kept.generation = recent->generation;
  }
  return kept;
}

Status LedgerWrite::Do() const {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return ErrnoStatus(error.value(), fmt::format("make folder {}", folder));
  }
  return sys::WriteFileAtomically(fmt::format("{}/{}", folder, name), text, kMode,
                                  is_durable ? sys::Durability::kDisk : sys::Durability::kMemory);
}

LedgerWrite WriteOfAll(const std::string& folder, uint64_t generation, const Ledger& all) {
  return {.folder = folder, .name = kAll, .text = PrintLedger(generation, all), .is_durable = true};
}

LedgerWrite WriteOfRecent(const std::string& folder, uint64_t generation, const Ledger& recent) {
  return {.folder = folder,
          .name = kRecent,
          .text = PrintLedger(generation, recent),
          .is_durable = false};
}

}  // namespace kgpu::usage
