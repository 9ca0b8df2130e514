#include "src/node/usage/store.h"

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/node/usage/ledger_text.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/root.h"

namespace kgpu::usage {
namespace {

constexpr char kAll[] = "ledger";
constexpr char kRecent[] = "recent";
// Above what a ledger of the most bytes takes with its hours.
constexpr size_t kLimit = size_t{64} << 20;
static_assert(kLimit > Ledger::kMostBytes + Ledger::kMostHours * 32);
constexpr mode_t kMode = 0600;

std::string PathOf(const std::string& folder, const char* name) {
  return fmt::format("{}/{}", folder, name);
}

// NotFound: there is none. InvalidArgument, OutOfRange: it is not one of ours.
StatusOr<LedgerFile> ReadLedger(const std::string& folder, const char* name) {
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open(folder));
  const StatusOr<std::string> text = root.ReadFile(name, kLimit);
  if (text.status().code() == StatusCode::kInvalidArgument) {
    return FailedPrecondition("{}", Message(text.status()));  // a folder, say: none of the content
  }
  RETURN_IF_ERROR(text.status());
  StatusOr<LedgerFile> file = ParseLedger(*text);
  if (!file.ok()) {
    return Annotate(file.status(), "{}", PathOf(folder, name));
  }
  return file;
}

// Whether the file was read but is not a usage file: reading it again does not help.
bool IsBad(const Status& status) {
  return status.code() == StatusCode::kInvalidArgument || status.code() == StatusCode::kOutOfRange;
}

bool IsPassing(const Status& status) {
  return !status.ok() && !IsBad(status) && status.code() != StatusCode::kNotFound;
}

Status ProblemOf(const StatusOr<LedgerFile>& file, const std::string& path) {
  if (!file.ok()) {
    return IsBad(file.status()) ? file.status() : OkStatus();
  }
  return file->bad_lines == 0
             ? OkStatus()
             : InvalidArgument("{}: {} unreadable lines are ignored", path, file->bad_lines);
}

void PutAside(const std::string& path) {
  const std::string bad = path + ".bad";
  (void)std::rename((bad + ".1").c_str(), (bad + ".2").c_str());
  (void)std::rename(bad.c_str(), (bad + ".1").c_str());
  (void)std::rename(path.c_str(), bad.c_str());
}

Status Replace(const std::string& folder, const char* name, const std::string& text,
               sys::Durability durability) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return ErrnoStatus(error.value(), fmt::format("make folder {}", folder));
  }
  return sys::WriteFileAtomically(PathOf(folder, name), text, kMode, durability);
}

}  // namespace

StatusOr<Kept> LoadLedger(const std::string& folder) {
  StatusOr<LedgerFile> all = ReadLedger(folder, kAll);
  StatusOr<LedgerFile> recent = ReadLedger(folder, kRecent);
  for (const Status& status : {all.status(), recent.status()}) {
    if (IsPassing(status)) {
      return Annotate(status, "read {}", folder);
    }
  }
  Kept kept;
  kept.problem = ProblemOf(all, PathOf(folder, kAll));
  kept.problem.Update(ProblemOf(recent, PathOf(folder, kRecent)));
  if (all.ok()) {
    kept.generation = all->generation;
    kept.ledger = std::move(all->ledger);
  } else if (IsBad(all.status())) {
    PutAside(PathOf(folder, kAll));
  }
  if (!recent.ok()) {
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
  switch (kind) {
    case Kind::kRecent:
      return Replace(folder, kRecent, PrintLedger(generation, *ledger), sys::Durability::kMemory);
    case Kind::kMore: {
      ASSIGN_OR_RETURN(Kept kept, LoadLedger(folder));
      kept.ledger.Add(*ledger);
      return Replace(folder, kAll, PrintLedger(kept.generation + 1, kept.ledger),
                     sys::Durability::kDisk);
    }
    case Kind::kAll:
      break;
  }
  return Replace(folder, kAll, PrintLedger(generation, *ledger), sys::Durability::kDisk);
}

}  // namespace kgpu::usage
