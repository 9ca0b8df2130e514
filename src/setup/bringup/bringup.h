// `kgpu node up` and `kgpu node down`: every stage of a GPU node, one after the other, and back.
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
  kReady,       // there was nothing to do
  kDone,        // done now
  kWould,       // dry run: would be done
  kWaits,       // for a fresh start or a person
  kFailed,      // the text says why; what was done before stays
  kSkipped,     // not wanted
  kNotReached,  // after one that waits or failed
};
std::string_view ToString(Step step);  // "ready", "done", "would do", …

struct StageReport {
  std::string id;
  std::string title;
  Step step = Step::kNotReached;
  std::string text{};     // for people, one line; may be empty
  std::string preview{};  // dry run: what would be done
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
  // What goes on after a reboot: the program's path on the host and its words. Empty: a person
  // does.
  std::vector<std::string> resume{};
  // Before a stage is worked on.
  std::function<void(const Stage&)> on_stage = [](const Stage&) {};
};

// Each stage is looked at, and done where it is needed. Stops at the first that waits or fails; the
// same call goes on from there, after a kill too. A dry run goes on, since a later stage may be
// blocked only by what an earlier one would fix. Errors: of the record and of locking it; what
// goes wrong in a stage is in the report.
StatusOr<Report> Up(const Stages& stages, const Host& host, const Options& options);

// Undoes what Up began, the last first. Errors: as of Up.
StatusOr<Report> Down(const Stages& stages, const Host& host, const Options& options);

}  // namespace kgpu::bringup
