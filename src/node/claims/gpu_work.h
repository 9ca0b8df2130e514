// Sets GPUs up for claims: makes and removes MIG devices and sets time slices, by the helper
// process, and says when containers can get a device, or use it through MPS.
#pragma once

#include <functional>
#include <string>

#include "src/node/claims/gpu_task.h"
#include "src/node/layouts/child_run.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/timer.h"

namespace kgpu::claims {

struct GpuWorkOptions {
  std::string program{};  // kgpu, which is the helper, too; empty: nothing can be changed
  mig::HelperHost host{};
};

// The functions of the rest of the agent that it uses.
struct GpuWorkHooks {
  // Closes all GPUs in this process's probe, and calls `closed`; `open` ends that.
  std::function<void(std::function<void()> closed)> close{};
  std::function<void()> open{};
  // Reads the GPUs, then calls `done`.
  std::function<void(std::function<void()> done)> read{};
  std::function<bool(const std::string& gpu)> is_in_mig_mode{};
  // Whether a container can get the device with this UUID; of an empty one, whether devices are
  // known.
  std::function<bool(const std::string& uuid)> is_known{};
  // Whether programs can use the device through its MPS daemon; if not, why, or that it starts.
  std::function<device::Health(const std::string& uuid)> mps{};
  // Ends the device's MPS daemon; whether there is none any more.
  std::function<bool(const std::string& uuid)> end_mps{};
};

// Lives on the loop's thread.
class GpuWork {
 public:
  // `loop` must outlive it.
  GpuWork(EventLoop& loop, GpuWorkOptions options, GpuWorkHooks hooks);

  // One task at a time. Calls `done` once, later. Errors: Unavailable (the host or the driver is
  // busy, the device does not appear, MPS does not start), FailedPrecondition (the helper's
  // reason).
  void Run(const GpuTask& task, GpuDone done);

 private:
  void Start(const GpuTask& task);
  void Ask(const GpuTask& task);
  void OnReply(const GpuTask& task, const StatusOr<mig::HelperReply>& reply);
  void AwaitDevice(const std::string& uuid, const mig::MadeDevice& made);
  void AwaitMps(const std::string& uuid);
  void AwaitNoMps(const GpuTask& task);
  void End(StatusOr<mig::MadeDevice> made);

  EventLoop& loop_;
  const GpuWorkOptions options_;
  const GpuWorkHooks hooks_;
  layouts::ChildRun child_;
  bool is_closed_ = false;
  GpuDone done_;
  SteadyTime until_{};  // of AwaitDevice() and AwaitMps()
  Timer timer_{loop_};
  Lifetime lifetime_;
};

}  // namespace kgpu::claims
