// No program outlives kgpu unnoticed: the running program is recorded on the host, so that a run
// after a kill finds it and waits for it before it does or undoes anything.
#pragma once

#include <chrono>
#include <string_view>

#include "src/host/change/disk.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"
#include "src/setup/driver_install/carry_out.h"

namespace kgpu::driver_install {

inline constexpr std::string_view kProgramFile = "/var/lib/kgpu/driver-program.json";

// As long as the longest of our programs may take.
inline constexpr std::chrono::milliseconds kProgramWait{std::chrono::minutes{70}};

// Runs each program in its own session, which is ended as a whole, and records it while it runs.
// Only useful under the host's lock. Borrows all arguments.
class NotingRunner final : public sys::ProgramRunner {
 public:
  NotingRunner(sys::ProgramRunner& runner, const sys::Root& host, change::Disk& disk)
      : runner_(runner), host_(host), disk_(disk) {}
  // Call it once we hold the lock.
  void BeginNoting() { notes_ = true; }
  // Errors: Unavailable (a program that could not be ended still runs), those of writing the record
  // (the program is then ended), else as ProgramRunner.
  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override;

 private:
  sys::ProgramRunner& runner_;
  const sys::Root& host_;
  change::Disk& disk_;
  bool notes_ = false;
  bool is_left_ = false;  // a program may still be running
};

// Waits for the program that a killed run left, and removes the record. Says what it waits for,
// immediately and then each `every`. Errors: Unavailable (it still runs after `wait`: its name and
// number), and those of removing.
Status AwaitProgram(const sys::Root& host, change::Disk& disk, Progress& progress,
                    std::chrono::milliseconds wait,
                    std::chrono::milliseconds every = std::chrono::minutes{1});

}  // namespace kgpu::driver_install
