// The installation of a driver on a host, or its reversal: the plan, its progress, and what was
// there before. Stored at /var/lib/kgpu/driver.json on the host and written before and after each
// action, so that a kill at any moment can be resumed or reverted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/host/change/disk.h"
#include "src/host/facts/facts.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/setup/driver/plan.h"

namespace kgpu::driver_install {

inline constexpr std::string_view kJournalFile = host::kDriverJournal;
inline constexpr std::string_view kBackupFolder = "/var/lib/kgpu/driver-backup";
// Original texts of files that could not be restored: they outlive the journal.
inline constexpr std::string_view kKeptFolder = "/var/lib/kgpu/driver-kept";

// The state of a host's file before we changed it.
enum class FileKind : uint8_t { kAbsent, kFile, kLink };
struct FileBefore {
  FileKind kind = FileKind::kAbsent;
  std::string backup;             // where its content is kept
  std::string target;             // of a link
  change::Attributes attributes;  // of a file
  bool operator==(const FileBefore&) const = default;
};

enum class StepState : uint8_t { kPending, kDoing, kDone, kPassedOver, kUndoing, kUndone };
std::string_view ToString(StepState state);  // "pending", "doing", …

// By name, as the host's package manager reports them.
using Versions = std::map<std::string, std::string>;

struct StepRecord {
  StepState state = StepState::kPending;
  bool was_done = false;             // its action was complete before it was reverted
  std::string note;                  // why it was skipped, or why it could not be undone
  std::optional<FileBefore> file;    // for a step with a file
  std::vector<std::string> folders;  // created for it, outermost first
  Versions packages_before;          // everything installed; until the step is done
  // Packages that its dry run listed, until it is done; nothing: from a kgpu that recorded none.
  std::optional<std::vector<std::string>> foreseen = std::vector<std::string>();
  std::vector<std::string> configured;  // those of them that had an old configuration here before
  Versions came;                        // packages that came with it
  Versions replaced;                    // packages that it replaced or removed, as they were
  // Of the packages it removed, those that were not fully installed: their scripts may fail again.
  std::vector<std::string> unfinished;
  // Their configuration files that somebody had changed, and that were put aside with them.
  std::vector<std::string> changed_configs;
  // Units that it stopped or started; for one that removes packages: units that ran before.
  std::vector<std::string> units;
  // Units that it enabled; for one that removes packages: units that were enabled before.
  std::vector<std::string> enabled;
  std::vector<std::string> modules;  // those it loaded or unloaded
  std::string boot_id;               // the boot it was done in, if it is a restart or one undoes it
  bool operator==(const StepRecord&) const = default;
};

// kRemoved: every step is undone, and the plan can be carried out again.
enum class Phase : uint8_t { kInstalling, kInstalled, kGoingBack, kRemoved };
std::string_view ToString(Phase phase);  // "installing", "installed", "going-back", "removed"

// The driver by kgpu that another one replaced: the plan that installs it again.
struct Former {
  driver::Plan plan;
  int64_t began = 0;
  bool operator==(const Former&) const = default;
};

struct Journal {
  Phase phase = Phase::kInstalling;
  int64_t began = 0;    // seconds since 1970
  std::string failure;  // what ended the last run; empty: nothing
  // As the last call by a person requested, and as the unit continues after a restart:
  bool keeps = false;     // what was done stays if a step fails
  bool restarts = false;  // the host is restarted if a step needs it
  driver::Plan plan;
  std::vector<StepRecord> steps;  // one per step of the plan
  // Installed again once all steps are undone. While a driver gives way to another one, it is its
  // own former driver.
  std::optional<Former> former;
  bool operator==(const Journal&) const = default;
};

std::string PrintJournal(const Journal& journal);
// Errors: InvalidArgument naming `file` and the field; FailedPrecondition (an older kgpu wrote the
// journals of several drivers into it).
StatusOr<Journal> ParseJournal(std::string_view text, std::string_view file);

// Nothing if there is none. Errors: as ParseJournal, and those of reading.
StatusOr<std::optional<Journal>> ReadJournal(const sys::Root& host);
// Errors: those of Disk::Write; InvalidArgument (bytes that JSON cannot hold).
Status WriteJournal(const Journal& journal, change::Disk& disk);

}  // namespace kgpu::driver_install
