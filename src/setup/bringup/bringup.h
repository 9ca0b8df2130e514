// `kgpu node up` and `kgpu node down`: all stages of a GPU node, in order, and back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/host/change/disk.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/setup/bringup/stage.h"

namespace kgpu::bringup {

struct Host {
  const sys::Root& root;
  change::Disk& disk;
};

enum class Step : uint8_t {
  kReady,       // nothing had to be done
  kDone,        // done now
  kWould,       // dry run: it would be done
  kWaits,       // for a restart or a person
  kFailed,      // the text says why; what was done before stays
  kSkipped,     // not requested
  kNotReached,  // a stage before it waits or failed
};
std::string_view ToString(Step step);  // "ready", "done", "would do", …

struct StageReport {
  std::string id;
  std::string title;
  Step step = Step::kNotReached;
  std::string text{};     // for people, one line; may be empty
  std::string preview{};  // dry run: what it would do
};

struct Report {
  std::vector<StageReport> stages;

  std::vector<std::string> notes;  // for people

  bool Has(Step step) const;
};

using Stages = std::vector<std::unique_ptr<Stage>>;

struct Options {
  std::set<std::string> skipped{};  // ids of stages
  bool is_dry_run = false;
  // The command that continues after a reboot: the program's path on the host and its arguments.
  // Empty: a person does it.
  std::vector<std::string> resume{};
  // Called before each stage.
  std::function<void(const Stage&)> on_stage = [](const Stage&) {};
};

// Checks each stage, and runs it if needed. Stops at the first that waits or fails; the same call
// continues from there, even after a kill. A dry run does not stop, since a later stage may only be
// blocked by what an earlier one would fix. Errors: those of the record and of locking it; problems
// of a stage are in the report.
StatusOr<Report> Up(const Stages& stages, const Host& host, const Options& options);

// Reverts what Up began, last stage first. Errors: as Up.
StatusOr<Report> Down(const Stages& stages, const Host& host, const Options& options);

}  // namespace kgpu::bringup
