// A place of its own for one container engine: it sees /run, /etc, /var/log and processes that are
// not the machine's, and everything it starts ends with it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "testing/temp_dir.h"
#include "tests/e2e/program.h"

namespace kgpu::engines {

// Folders of tests are their owner's alone; users without rights must reach files in this one.
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
  // A file of the box's /etc, for what is started from now on.
  void WriteEtc(const std::string& path, std::string_view text) const;
  // From now on the engine finds CDI specs and the injection index of the host in `folder`, which
  // is a simulated one, where it looks for them by itself: below /run.
  void ShareRun(const std::string& folder);
  // And /dev holds the usual nodes and those of that host. Engines that make no node, for a user
  // namespace, bind the host's by its path in the container.
  void ShareDevices(const std::string& folder);
  // crun refuses machines where both cgroup hierarchies have controllers: the second one is hidden.
  void UseOneCgroupHierarchy();
  // The cgroup below which the box's containers belong: "/kgpu-Ab12Cd".
  std::string cgroup_parent() const;

  // Starts the engine's daemon; its messages go to `log()`.
  void StartDaemon(std::vector<std::string> argv);
  // Waits until somebody listens on `socket`; false when the daemon has ended or is too slow.
  bool WaitForSocket(const std::string& socket) const;
  std::string log() const { return dir_.ReadFile("daemon.log"); }
  // Runs a program in the box to its end, with processes of its own.
  e2e::Result Run(std::vector<std::string> argv,
                  std::chrono::milliseconds limit = std::chrono::seconds(60)) const;

  // Runs a program beside the daemon: it sees the daemon's files and processes.
  e2e::Result Enter(std::vector<std::string> argv,
                    std::chrono::milliseconds limit = std::chrono::seconds(60)) const;

  // Lines of the shell that every program of the box starts with (mounts, limits).
  void AddPrologue(const std::string& lines) { prologue_ += lines + "\n"; }

 private:
  std::vector<std::string> Boxed(std::vector<std::string> argv) const;

  TempDir dir_;
  std::string prologue_;
  std::unique_ptr<e2e::Background> daemon_;
};

}  // namespace kgpu::engines
