// What kgpu did to a host's engines: written before anything is changed, so that a kill at any
// point can be resumed or reverted. Stored at /var/lib/kgpu/engines.json on the host, with the
// original texts of the files beside it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/plan.h"
#include "src/host/change/journal_file.h"
#include "src/platform/base/status.h"

namespace kgpu::engine {

inline constexpr std::string_view kBackupFolder = "/var/lib/kgpu/backup";
inline constexpr std::string_view kStateFile = "/var/lib/kgpu/engines.json";
inline constexpr change::JournalFile kStateJournal(kStateFile, size_t{16} << 20, kBackupFolder);

struct FileRecord {
  std::string path;
  std::string backup;              // path of the original text; empty: there was none
  std::optional<TextKind> kind;    // as FileStep::kind
  std::vector<KeyChange> changes;  // since `backup`, in the order of the changes
  std::vector<std::string> ours;   // fingerprints of what we wrote or were about to write
  bool operator==(const FileRecord&) const = default;
};

enum class Phase : uint8_t { kApplying, kApplied, kReverting };

struct Record {
  Phase phase = Phase::kApplying;
  std::vector<FileRecord> files;
  std::map<std::string, std::string> links;  // ours: path and target
  std::vector<std::string> made_folders;     // outermost first
  bool uses_runtime = false;
  bool has_unit_change = false;
  Reach reach = Reach::kNothing;    // what makes all changes together take effect
  Reach pending = Reach::kNothing;  // what is still to be done of it, unless done since …
  std::string reach_reason;
  int64_t changed_at = 0;  // … this, in seconds since 1970
  Expected expected;       // of all changes together
  bool operator==(const Record&) const = default;
};

// By Engine::Id(), and kShimId.
using State = std::map<std::string, Record>;

std::string PrintState(const State& state);
// Errors: InvalidArgument naming `file` and the field.
StatusOr<State> ParseState(std::string_view text, std::string_view file);

// The state of a host; empty if there is none. Errors: as ParseState, and those of reading.
StatusOr<State> ReadState(const sys::Root& host);

}  // namespace kgpu::engine
