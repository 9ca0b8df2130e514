// One container of RuncRuntime: its folder, its wrapper process, how it ended.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/child_process.h"
#include "testing/kubelet/lifeline.h"

namespace kgpu::kubelet {

// The programs that every container needs, by path.
struct RuncPrograms {
  std::string runc;
  std::string setsid;
  std::string unshare;
  std::string shell;
};
// Errors: FailedPrecondition naming what is missing and its package.
StatusOr<RuncPrograms> FindRuncPrograms();

// Lives on the loop's thread. The process outlives this object.
class RuncContainer {
 public:
  struct Setting {
    EventLoop& loop;
    RuncPrograms programs;
    std::string runc_root;
    std::string rootfs;
    std::string folder;  // of this container: holds config.json
    std::string id;
    std::function<void(int exit_code)> on_exit;  // once; not for a container that never started
  };

  explicit RuncContainer(Setting setting);
  ~RuncContainer();
  RuncContainer(const RuncContainer&) = delete;
  RuncContainer& operator=(const RuncContainer&) = delete;

  // `started` runs on the loop, once: OK if the container's process runs.
  void Start(std::function<void(const Status&)> started);
  // Finds the process of a container that another process started.
  void TakeUp();

  // From Start until its end is known.
  bool is_running() const { return is_running_ || started_ != nullptr; }
  std::optional<int> exit_code() const { return exit_code_; }
  // SIGTERM, then SIGKILL after `grace`.
  void Stop(std::chrono::nanoseconds grace);
  void Kill();

 private:
  void Look();
  bool FindWrapper();
  void OnWrapperEnd();
  void Signal(int signal) const;
  void FailToStart(const std::string& why);
  std::string FileText(const char* name) const;
  std::string WhyNotStarted() const;

  Setting setting_;
  std::unique_ptr<sys::ChildProcess> launcher_;
  std::function<void(const Status&)> started_;  // until it is known
  UniqueFd wrapper_;                            // pidfd
  WatchId watch_ = WatchId::kNone;
  TimerId look_timer_ = TimerId::kNone;
  TimerId kill_timer_ = TimerId::kNone;
  SteadyTime start_limit_;
  bool is_running_ = false;
  bool is_doomed_ = false;  // kill it as soon as it runs
  std::optional<int> exit_code_;
  Lifeline lifeline_;
};

}  // namespace kgpu::kubelet
