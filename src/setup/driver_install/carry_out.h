// Carries a plan of the driver out on a host, and takes it back: each action recorded before it is
// done and after it, so that the next run goes on where this one ended, however that was.
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

// Told of what happens, for people who wait. Calls come from the thread that carries out.
class Progress {
 public:
  virtual ~Progress() = default;
  // Step `number` of `count`, from 1, begins, or is taken back.
  virtual void OnStep(size_t number, size_t count, const driver::Step& step, bool is_undone) = 0;
  // What a program that runs for the step printed.
  virtual void OnLine(std::string_view line) = 0;
  // What is waited for before any step, and once a minute that it still is: to be shown whole.
  virtual void OnWait(std::string_view line) = 0;
};

// What the work is done with. All of it outlives the calls.
struct Dependencies {
  const sys::Root& host;
  change::Disk& disk;
  sys::ProgramRunner& runner;
  packages::PackageManager* packages;  // null: the host has none that we know
  const Clock& clock;
  Progress& progress;
  std::function<driver::Verified(const driver::Verify& request)> verify;
};

struct Options {
  // These two are the journal's where nobody called:
  bool keeps = false;     // a step that fails leaves those before it as they are
  bool restarts = false;  // the caller restarts the host where a step needs it
  bool forces = false;    // a step that cannot be undone is given up and reported
  // Whether the root is that of the system that runs: of another one no units, modules or device
  // nodes are touched, and it is not restarted.
  bool is_running_system = true;
  // Of the unit that goes on after a restart; empty: there is none.
  std::vector<std::string> resume_command;
  bool is_unattended = false;  // nobody is there who may have done what a person was asked for
  // A person says that the kernel trusts the modules' key, whatever the firmware's lists show: that
  // they cannot be loaded tells the truth then.
  bool trusts_key = false;
  // CarryOut: a driver that kgpu installed to the end gives way. What tells of it is kept below the
  // journal, and is the host's again when this one is taken back.
  bool replaces = false;
  // CarryOut: the plan brings the modules for one more kernel to the driver that kgpu installed to
  // the end, which stays. What came with it goes when that one is taken back.
  bool adds_kernel = false;
  // TakeBack: those below, too, to the host that was here before kgpu.
  bool takes_all = false;
};

enum class Result : uint8_t { kDone, kNeedsReboot, kNeedsPerson, kTakenBack };

// For people.
struct Outcome {
  Result result = Result::kDone;
  std::string text;                 // what is to be done before the next run; empty when done
  bool resumes_itself = false;      // a unit goes on after the restart
  bool is_to_restart = false;       // by the caller, now
  std::vector<std::string> passed;  // of the verification
  std::vector<std::string> notes;   // what was passed over or left alone
  bool lacks = false;               // taken back, but for something that was here before
  std::string back_to;              // taken back: version of the driver by kgpu that is here again
};

// Only one at a time may work on a host; what an earlier one that was killed left at work is waited
// for. Errors: Unavailable (another does, or a program of that one still), and those of making
// /var/lib/kgpu.
StatusOr<UniqueFd> LockHost(const Dependencies& deps);

// Begins with a plan and goes on to its end, to a restart or to what a person must do. A step that
// fails takes all back from the last to the first, unless it is to be kept; the error says which.
// Errors: AlreadyExists (there is a journal: Resume or TakeBack it), OutOfRange (too many are below
// it), FailedPrecondition (a step failed), and those of writing the journal.
StatusOr<Outcome> CarryOut(const driver::Plan& plan, const Options& options,
                           const Dependencies& deps);
// Goes on with the host's journal, also where it was being taken back. One that is finished is
// verified again. Errors: NotFound (there is none), else as CarryOut.
StatusOr<Outcome> Resume(const Options& options, const Dependencies& deps);
// Takes back what the journal tells of, from the last step to the first; units that were stopped
// and modules that were unloaded come back when all else has; afterwards there is none, or that of
// the driver by kgpu that this one replaced. A step that cannot be undone ends it, since those
// before it may be needed for that, and the next call tries again. Errors: NotFound (there is no
// journal), FailedPrecondition (the step that could not be undone).
StatusOr<Outcome> TakeBack(const Options& options, const Dependencies& deps);

}  // namespace kgpu::driver_install
