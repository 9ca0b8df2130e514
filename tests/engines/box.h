// An isolated place for one container engine: it has its own /run, /etc, /var/log and processes,
// and everything it starts ends with it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "testing/temp_dir.h"
#include "tests/e2e/program.h"

namespace kgpu::engines {

// Only owners can access tests' folders; unprivileged users must reach files in this one.
void LetEverybodyIn(const std::string& folder);

class EngineBox {
 public:
  EngineBox();
  // Kills the daemon with all its containers and removes their cgroups.
  ~EngineBox();
  EngineBox(const EngineBox&) = delete;
  EngineBox& operator=(const EngineBox&) = delete;

  const TempDir& dir() const { return dir_; }
  std::string At(std::string_view relative) const { return dir_.At(relative); }
  // A file in the box's /etc, for everything started from now on.
  void WriteEtc(const std::string& path, std::string_view text) const;
  // From now on the engine finds the CDI specs and the injection index of the (simulated) host in
  // `folder` in their default places: below /run.
  void ShareRun(const std::string& folder);
  // In addition, /dev has the usual nodes and those of that host. Engines that do not create nodes,
  // for a user namespace, bind-mount the host's by the path in the container.
  void ShareDevices(const std::string& folder);
  // The box is that (running, simulated) host: its /run, devices, libraries and
  // settings, and at `proc()`
  // the /proc of its processes and its driver.
  void BecomeHost(const std::string& folder);
  std::string proc() const { return At("scratch/proc"); }
  // crun refuses machines where both cgroup hierarchies have controllers: hides the second one.
  void UseOneCgroupHierarchy();
  // The cgroup below which the box's containers belong: "/kgpu-Ab12Cd".
  std::string cgroup_parent() const;

  // Starts the engine's daemon; its messages go to `log()`.
  void StartDaemon(std::vector<std::string> argv);
  // Waits until somebody listens on `socket`; false if the daemon has ended or is too slow.
  bool WaitForSocket(const std::string& socket) const;
  std::string log() const { return dir_.ReadFile("daemon.log"); }
  // Runs a program in the box to its end, in a process namespace of its own.
  e2e::Result Run(std::vector<std::string> argv,
                  std::chrono::milliseconds limit = std::chrono::seconds(60)) const;

  // Runs a program next to the daemon: it sees the daemon's files and processes.
  e2e::Result Enter(std::vector<std::string> argv,
                    std::chrono::milliseconds limit = std::chrono::seconds(60)) const;

  // The daemon's own, and all that descend from it, as this process counts them. `name`: as
  // /proc/PID/comm has it, up to 15 characters.
  std::vector<pid_t> ProcessesNamed(std::string_view name) const;

  // Shell lines that every program of the box starts with (mounts, limits).
  void AddPrologue(const std::string& lines) { prologue_ += lines + "\n"; }

 private:
  std::vector<std::string> Boxed(std::vector<std::string> argv) const;

  TempDir dir_;
  std::string prologue_;
  std::unique_ptr<e2e::Background> daemon_;
};

}  // namespace kgpu::engines
