// What is being done to a host to bring the driver onto it, or take it back: the plan, how far it
// is, and what stood there before. Kept at /var/lib/kgpu/driver.json of the host and written before
// and after each action, so that a kill at any instant can be resumed or taken back.
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
inline constexpr std::string_view kBackupFolder = "/var/lib/kgpu/driver-backup";  // of the first
// Drivers that are kept below the one that is installed.
inline constexpr size_t kMostBelow = 8;
// First texts of files that could not be put back: they outlive the journal.
inline constexpr std::string_view kKeptFolder = "/var/lib/kgpu/driver-kept";

// A file of the host before we touched it.
enum class FileKind : uint8_t { kAbsent, kFile, kLink };
struct FileBefore {
  FileKind kind = FileKind::kAbsent;
  std::string backup;             // where its bytes are kept
  std::string target;             // of a link
  change::Attributes attributes;  // of a file
  bool operator==(const FileBefore&) const = default;
};

enum class StepState : uint8_t { kPending, kDoing, kDone, kPassedOver, kUndoing, kUndone };
std::string_view ToString(StepState state);  // "pending", "doing", …

// By name; what the host's package manager says of them.
using Versions = std::map<std::string, std::string>;

struct StepRecord {
  StepState state = StepState::kPending;
  bool was_done = false;             // its action was done whole before it was taken back
  std::string note;                  // why it was passed over, or what kept it from being undone
  std::optional<FileBefore> file;    // of a step with a file
  std::vector<std::string> folders;  // made for it, the outer ones first
  Versions packages_before;          // everything installed, until the step is done
  // Packages that its trial listed, until it is done; nothing: it is of a kgpu that noted none.
  std::optional<std::vector<std::string>> foreseen = std::vector<std::string>();
  std::vector<std::string> configured;  // of those, what had its old configuration here before
  Versions came;                        // packages that came with it
  Versions replaced;                    // packages that it replaced or removed, as they were
  // Of those that it took off, what was not whole before: its script may fail again.
  std::vector<std::string> unfinished;
  // Files of their configuration that somebody had changed, and that went aside with them.
  std::vector<std::string> changed_configs;
  // That it stopped or started; of one that takes packages off: that ran before.
  std::vector<std::string> units;
  // Units that it lets start with the host; of one that takes packages off: that did before.
  std::vector<std::string> enabled;
  std::vector<std::string> modules;  // that it loaded or unloaded
  std::string boot_id;               // in which it was done, if a restart is or undoes it
  bool operator==(const StepRecord&) const = default;
};

enum class Phase : uint8_t { kInstalling, kInstalled, kGoingBack };
std::string_view ToString(Phase phase);  // "installing", "installed", "going-back"

struct Journal {
  Phase phase = Phase::kInstalling;
  int64_t began = 0;    // seconds since 1970
  std::string failure;  // what ended the last run; empty: nothing did
  // As the last call by a person asked for, and as the unit goes on after a restart:
  bool keeps = false;     // what was done stays when a step fails
  bool restarts = false;  // the host is restarted where a step needs it
  // The way back goes on with those below, to the host that was here before kgpu.
  bool takes_all = false;
  // It brings the modules for one more kernel to the driver that is the last of `below`, which
  // stays: when it is done, what came with it is that one's.
  bool adds_kernel = false;
  driver::Plan plan;
  std::vector<StepRecord> steps;  // one for each of the plan
  // Those of drivers that kgpu installed before, and that this one replaced: the oldest first, each
  // with nothing below itself. The last of them is the host's again when this one is taken back.
  std::vector<Journal> below;
  bool operator==(const Journal&) const = default;
};

// "535", or what brings its modules for another kernel: "535 for kernel 6.1.0-57-amd64".
std::string TitleOf(const Journal& journal);

// The driver below a journal that adds a kernel, with what came with that: packages go with the
// first of the driver's own, which go last on the way back, so that nothing needs them any more.
// Steps of other kinds are taken over where the driver has none of that name.
Journal WithKernel(Journal added);

// Where what stood there before is kept: a folder of its own for each of those that are below.
std::string BackupFolder(const Journal& journal);

std::string PrintJournal(const Journal& journal);
// Errors: InvalidArgument, naming `file` and the field.
StatusOr<Journal> ParseJournal(std::string_view text, std::string_view file);

// Nothing where there is none. Errors: as ParseJournal and of reading.
StatusOr<std::optional<Journal>> ReadJournal(const sys::Root& host);
// Errors: those of Disk::Write; InvalidArgument (bytes in it that JSON cannot hold).
Status WriteJournal(const Journal& journal, change::Disk& disk);

}  // namespace kgpu::driver_install
