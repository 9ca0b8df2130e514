// Runs the containers of one admitted pod: start order, restarts, back-off, status, end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "testing/kubelet/constants.h"
#include "testing/kubelet/container_runtime.h"
#include "testing/kubelet/device_manager.h"
#include "testing/kubelet/dra_manager.h"
#include "testing/kubelet/lifeline.h"
#include "testing/kubelet/pod_store.h"
#include "testing/kubelet/preparer.h"

namespace kgpu::kubelet {

// Lives on the loop's thread.
class PodWorker {
 public:
  // Shared by all workers; must outlive them.
  struct Setting {
    EventLoop& loop;
    const Constants& constants;
    PodStore& store;
    ContainerRuntime& runtime;
    const DeviceManager& manager;
    DraManager& dra;
    Preparer& preparer;
  };

  // Takes over containers that are already running, according to the pod's status.
  PodWorker(const Setting& setting, const Pod& pod);
  ~PodWorker();
  PodWorker(const PodWorker&) = delete;
  PodWorker& operator=(const PodWorker&) = delete;

  // Starts what should be running, and updates the status.
  void Sync();
  // False if the container does not belong to this pod.
  bool OnExit(const std::string& id, int exit_code);
  // Stops every container; `done` runs when none is left and the pod's claims are unprepared.
  void Terminate(std::function<void()> done);
  // Whether every container has ended for good, and the pod's claims are unprepared.
  bool is_over() const { return is_over_ && !IsAnyAlive() && claims_ == Claims::kReleased; }

 private:
  enum class Claims : uint8_t { kUnprepared, kPreparing, kPrepared, kReleasing, kReleased };
  struct Run {
    ContainerSpec spec;
    std::string id;
    int attempt = 0;  // of this kubelet and earlier ones: makes ids unique
    int restarts = 0;
    int crashes = 0;  // in a row
    bool is_starting = false;
    bool is_running = false;
    bool has_ended = false;
    int exit_code = 0;
    SteadyTime started_at;
    SteadyTime ended_at;
    std::string reason;  // why it waits
    std::string message;
    ContainerOptions options;
    TimerId timer = TimerId::kNone;
  };

  void TakeUp(Run& run, const ContainerStatus& status);
  void Advance();
  void PrepareClaims();
  void OnClaimsPrepared(const Status& status);
  void ReleaseClaims();
  void OnClaimsReleased(const Status& status);
  bool StartInits();
  void Ensure(Run& run);
  bool ShouldRestart(const Run& run) const;
  std::chrono::nanoseconds BackOff(const Run& run) const;
  void RetryLater(Run& run, std::chrono::nanoseconds delay, const char* reason,
                  std::string_view message);
  void Start(Run& run);
  void OnPrepared(Run& run, const StatusOr<ContainerOptions>& options);
  void OnStarted(Run& run, const Status& status);
  bool IsAnyAlive() const;
  void CheckTerminated();
  void Publish();
  void PublishRun(const Run& run, ContainerStatus& status) const;
  void PublishHealth(const Run& run, ContainerStatus& status) const;
  PodPhase Phase() const;
  bool AreAppsDone() const;
  bool HasInitFailed() const;

  Setting setting_;
  PodSpec spec_;
  std::vector<Run> runs_;  // never resized: callbacks point into it
  bool is_over_ = false;
  Claims claims_ = Claims::kUnprepared;
  DraManager::Cancel cancel_prepare_;
  TimerId claims_timer_ = TimerId::kNone;
  std::function<void()> terminated_;  // set while the pod is being ended
  Lifeline lifeline_;
};

}  // namespace kgpu::kubelet
