// Carries out a driver plan on a host, and reverts it: records each action before and after it, so
// that the next run continues where this one ended, however it ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/host/change/disk.h"
#include "src/host/packages/package_manager.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"
#include "src/setup/driver/plan.h"
#include "src/setup/driver/verify.h"
#include "src/setup/driver_install/journal.h"

namespace kgpu::driver_install {

// Receives progress, for people who wait. Called from the thread that carries out.
class Progress {
 public:
  virtual ~Progress() = default;
  // Step `number` of `count`, from 1, starts, or is being reverted.
  virtual void OnStep(size_t number, size_t count, const driver::Step& step, bool is_undone) = 0;
  // A line of output from the step's program.
  virtual void OnLine(std::string_view line) = 0;
  // What we wait for before a step starts, repeated once a minute: show it completely.
  virtual void OnWait(std::string_view line) = 0;
};

// Everything that the functions below use. All of it must outlive the calls.
struct Dependencies {
  const sys::Root& host;
  change::Disk& disk;
  sys::ProgramRunner& runner;
  packages::PackageManager* packages;  // null: none that we know
  const Clock& clock;
  Progress& progress;
  std::function<driver::Verified(const driver::Verify& request)> verify;
};

struct Options {
  // If nobody called, these two come from the journal:
  bool keeps = false;     // a failed step leaves earlier steps as they are
  bool restarts = false;  // the caller restarts the host if a step needs it
  bool forces = false;    // gives up a step that cannot be undone, and reports it
  // Whether the root is that of the running system: for any other root, no units, modules or device
  // nodes are touched, and it is not restarted.
  bool is_running_system = true;
  // For the unit that continues after a restart; empty: there is none.
  std::vector<std::string> resume_command;
  bool is_unattended = false;  // nobody is there who could have done what a person was asked to do
  // A person says that the kernel trusts the modules' key, whatever the firmware's lists show: if
  // not, loading them will fail.
  bool trusts_key = false;
  // TakeBack: the driver that this one replaced is installed again; false: it is forgotten.
  bool restores = true;
};

enum class Result : uint8_t { kDone, kNeedsReboot, kNeedsPerson, kTakenBack };

// For people.
struct Outcome {
  Result result = Result::kDone;
  std::string text;                 // what to do before the next run; empty when done
  bool resumes_itself = false;      // a unit continues after the restart
  bool is_to_restart = false;       // by the caller, now
  std::vector<std::string> passed;  // results of the verification
  std::vector<std::string> notes;   // what was skipped or left alone
  bool lacks = false;               // reverted, except for something that was here before
  std::string back_to;              // reverted: version of the former driver, installed again
};

// Only one process at a time may change a host; waits for programs that an earlier killed run left.
// Errors: Unavailable (another process does, or such a program still runs), and those of creating
// /var/lib/kgpu.
StatusOr<UniqueFd> LockHost(const Dependencies& deps);

// Starts a plan and continues until its end, a restart, or something that a person must do. If a
// step fails, reverts all from the last to the first unless they are to be kept; the error says
// which. A driver that gave way becomes the former one, and is installed again after all steps were
// reverted. Errors: AlreadyExists (there is a journal: Resume, TakeBack or GiveWay), those of
// writing the journal, FailedPrecondition (a step failed).
StatusOr<Outcome> CarryOut(const driver::Plan& plan, const Options& options,
                           const Dependencies& deps);
// Continues with the host's journal, also while it is being reverted: then no former driver is
// installed. Verifies a finished one again; installs a driver again that gave way. Errors: NotFound
// (there is none), else as CarryOut.
StatusOr<Outcome> Resume(const Options& options, const Dependencies& deps);
// Reverts the journal's steps, from the last to the first; stopped units and unloaded modules come
// come back after everything else; afterwards there is no journal, or that of the former driver.
// Stops at a step that cannot be undone, since undoing it may need the steps before it; the next
// call tries again. Errors: NotFound (there is no journal),
// FailedPrecondition (the step that could not be undone).
StatusOr<Outcome> TakeBack(const Options& options, const Dependencies& deps);
// Reverts the steps of an installed driver, so that CarryOut can install another one; its journal
// stays in the phase kRemoved. Errors: as TakeBack; FailedPrecondition also if the driver is not
// completely installed.
StatusOr<Outcome> GiveWay(const Options& options, const Dependencies& deps);

}  // namespace kgpu::driver_install
