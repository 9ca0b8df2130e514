// Simulated containers without processes: for fast tests of everything except containers.
#pragma once

#include <map>

#include "src/platform/base/event_loop.h"
#include "testing/kubelet/container_runtime.h"
#include "testing/kubelet/lifeline.h"

namespace kgpu::kubelet {

// A container runs until it is stopped or told to Exit; with `exits_with` it ends at once.
class NullRuntime final : public ContainerRuntime {
 public:
  // `loop` must outlive the runtime.
  explicit NullRuntime(EventLoop& loop) : loop_(loop) {}

  void SetExitHandler(ExitHandler handler) override { on_exit_ = std::move(handler); }
  void Start(const ContainerConfig& config, std::function<void(const Status&)> started) override;
  void Stop(const std::string& id, std::chrono::nanoseconds grace) override;
  std::optional<RunState> Find(const std::string& id) const override;
  std::vector<std::string> List() const override;
  void Remove(const std::string& id) override;

  // The process in the container ends. Ignores unknown or ended containers.
  void Exit(const std::string& id, int exit_code);
  // The machine stops: nobody is notified, and everything is forgotten.
  void Reboot() { runs_.clear(); }
  // A container that was running before this runtime was created.
  void Adopt(const std::string& id) { runs_[id] = RunState{.is_running = true, .exit_code = 0}; }

 private:
  EventLoop& loop_;
  ExitHandler on_exit_;
  std::map<std::string, RunState> runs_;
  Lifeline lifeline_;
};

}  // namespace kgpu::kubelet
