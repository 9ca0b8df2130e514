#include "src/node/usage/store.h"

#include <optional>
#include <string_view>
#include <utility>

#include "src/node/usage/ledger_text.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/state_file.h"

namespace kgpu::usage {
namespace {

constexpr char kAll[] = "ledger";
constexpr char kRecent[] = "recent";
// Above what a ledger of the most bytes takes with its hours.
constexpr size_t kLimit = size_t{64} << 20;
static_assert(kLimit > Ledger::kMostBytes + Ledger::kMostHours * 32);
constexpr mode_t kMode = 0600;

sys::StateFile FileIn(const std::string& folder, const char* name, sys::Durability durability) {
  return {fmt::format("{}/{}", folder, name),
          {.most_bytes = kLimit, .mode = kMode, .durability = durability}};
}

// One of the two files, as it was read.
struct ReadFile {
  std::optional<LedgerFile> file{};
  Status damage{};  // of what is there
};

// Errors: those after which reading again may help.
StatusOr<ReadFile> ReadLedger(const sys::StateFile& file) {
  auto parsed = file.Read([&](std::string_view text) {
    StatusOr<LedgerFile> ledger = ParseLedger(text);
    return ledger.ok() ? std::move(ledger) : Annotate(ledger.status(), "{}", file.path());
  });
  if (!parsed.ok()) {
    return sys::StateFile::IsDamage(parsed.status())
               ? StatusOr<ReadFile>(ReadFile{.damage = parsed.status()})
               : parsed.status();
  }
  ReadFile read{.file = *std::move(parsed)};
  if (read.file && read.file->bad_lines > 0) {
    read.damage =
        InvalidArgument("{}: {} unreadable lines are ignored", file.path(), read.file->bad_lines);
  }
  return read;
}

}  // namespace

StatusOr<Kept> LoadLedger(const std::string& folder) {
  const sys::StateFile all_file = FileIn(folder, kAll, sys::Durability::kDisk);
  StatusOr<ReadFile> all = ReadLedger(all_file);
  StatusOr<ReadFile> recent = ReadLedger(FileIn(folder, kRecent, sys::Durability::kMemory));
  for (const Status& status : {all.status(), recent.status()}) {
    if (!status.ok()) {
      return Annotate(status, "read {}", folder);
    }
  }
  std::optional<LedgerFile> whole = std::move(all->file);
  std::optional<LedgerFile> later = std::move(recent->file);
  Kept kept;
  kept.problem = all->damage;
  if (whole) {
    kept.generation = whole->generation;
    kept.ledger = std::move(whole->ledger);
  } else if (!all->damage.ok()) {
    kept.problem = all_file.SetAside(all->damage);
  }
  kept.problem.Update(recent->damage);
  if (!later) {
    return kept;
  }
  if (!whole || later->generation == kept.generation) {
    kept.recent = std::move(later->ledger);
    kept.ledger.Add(kept.recent);
  }
  if (!whole) {
    kept.generation = later->generation;
  }
  return kept;
}

Status LedgerWrite::Do() const {
  const sys::StateFile all = FileIn(folder, kAll, sys::Durability::kDisk);
  switch (kind) {
    case Kind::kRecent:
      return FileIn(folder, kRecent, sys::Durability::kMemory)
          .Write(PrintLedger(generation, *ledger));
    case Kind::kMore: {
      ASSIGN_OR_RETURN(Kept kept, LoadLedger(folder));
      kept.ledger.Add(*ledger);
      return all.Write(PrintLedger(kept.generation + 1, kept.ledger));
    }
    case Kind::kAll:
      break;
  }
  return all.Write(PrintLedger(generation, *ledger));
}

}  // namespace kgpu::usage
