// Real containers, through runc. Each runs below a small wrapper process that outlives us and
// writes the exit code to a file, so that a restarted kubelet finds its containers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "testing/kubelet/container_runtime.h"

namespace kgpu::kubelet {

// Lives on the loop's thread.
class RuncRuntime final : public ContainerRuntime {
 public:
  struct Options {
    std::string folder;  // for containers and runc's own state; created if it does not exist
    std::string rootfs;  // the file system that every container starts from; never written to
    std::vector<std::string> cdi_folders;  // lowest precedence first
  };

  // Takes over the containers in `folder`. `loop` must outlive the runtime. Errors:
  // FailedPrecondition (no runc, not root, a rootfs without a shell), as ErrnoStatus.
  static StatusOr<std::unique_ptr<RuncRuntime>> Open(EventLoop& loop, const Options& options);
  // Containers keep running.
  ~RuncRuntime() override;

  void SetExitHandler(ExitHandler handler) override;
  void Start(const ContainerConfig& config, std::function<void(const Status&)> started) override;
  void Stop(const std::string& id, std::chrono::nanoseconds grace) override;
  std::optional<RunState> Find(const std::string& id) const override;
  std::vector<std::string> List() const override;
  void Remove(const std::string& id) override;

 private:
  struct State;
  explicit RuncRuntime(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A container's output, below a runtime's folder. Errors: NotFound.
StatusOr<std::string> ContainerLog(const std::string& folder, const std::string& id);

}  // namespace kgpu::kubelet
