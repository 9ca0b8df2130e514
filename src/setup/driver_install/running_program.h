// No program outlives kgpu unnoticed: the one that is at work is noted on the host, so that a run
// after one that was killed finds it and waits for it, before it does or undoes anything beside it.
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

// Runs each program in a session of its own, which is ended as one, and notes it while it is at
// work. Only of use under the host's lock. Borrows all.
class NotingRunner final : public sys::ProgramRunner {
 public:
  NotingRunner(sys::ProgramRunner& runner, const sys::Root& host, change::Disk& disk)
      : runner_(runner), host_(host), disk_(disk) {}
  // From now on, as the lock is ours.
  void BeginNoting() { notes_ = true; }
  // Errors: Unavailable (one that could not be ended is still at work), those of writing the note
  // (the program is ended then), else as ProgramRunner.
  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override;

 private:
  sys::ProgramRunner& runner_;
  const sys::Root& host_;
  change::Disk& disk_;
  bool notes_ = false;
  bool is_left_ = false;  // a program that may still be at work
};

// Waits for what a killed run left at work, and removes the note. What it waits for it says at once
// and then `every` so often. Errors: Unavailable (it is at work after `wait` still: its name and
// number), and those of removing.
Status AwaitProgram(const sys::Root& host, change::Disk& disk, Progress& progress,
                    std::chrono::milliseconds wait,
                    std::chrono::milliseconds every = std::chrono::minutes{1});

}  // namespace kgpu::driver_install
