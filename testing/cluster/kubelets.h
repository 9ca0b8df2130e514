// The kubelets of all nodes: run pods as a script says.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "testing/apiserver/api.h"
#include "testing/cluster/index.h"
#include "testing/cluster/writer.h"

namespace kgpu::simcluster {

// What becomes of a pod on its node.
struct PodPlan {
  std::chrono::milliseconds start_time{500};  // from its binding until its containers run
  std::chrono::milliseconds ready_time{500};  // from then until it is ready
  // From start to end; nothing: until it is deleted.
  std::optional<std::chrono::milliseconds> run_time{};
  int exit_code = 0;
  std::string waiting{};  // "ImagePullBackOff": it never starts, for that reason
  std::string log{};      // what it prints when it starts
  std::string ip{};       // empty: any
};
using PodScript = std::function<PodPlan(const boost::json::object& pod)>;

// Pods of a Job end after a second; all others run. Variables of the first container override that:
// SIM_START_SECONDS, SIM_READY_SECONDS, SIM_RUN_SECONDS, SIM_EXIT_CODE, SIM_WAITING, SIM_LOG,
// SIM_POD_IP.
PodPlan PlanFromEnvironment(const boost::json::object& pod);

// Containers are restarted as the pod's restartPolicy says, with the real kubelet's back-off. Pods
// of a node whose condition Ready is False or Unknown stay as they are. Loop thread only.
class Kubelets {
 public:
  Kubelets(EventLoop& loop, apiserver::Api& api, const Index& index, PodScript script,
           std::vector<std::string>& problems);
  ~Kubelets();
  Kubelets(const Kubelets&) = delete;
  Kubelets& operator=(const Kubelets&) = delete;

  void SetScript(PodScript script) { script_ = std::move(script); }
  // After a change of the pod: takes it over, or gives it up.
  void Sync(const ObjectKey& key);
  // After a change of the node: reports what a kubelet does at its start, if nobody has.
  void SyncNode(const std::string& name);

 private:
  enum class State : uint8_t { kStarting, kRunning, kReady, kBackOff, kOver };
  struct Run {
    std::string uid{};
    PodPlan plan{};
    State state = State::kStarting;
    int restarts = 0;
    std::string started{};  // of its containers
    SteadyTime started_at{};
    TimerId timer = TimerId::kNone;
  };

  void Forget(const ObjectKey& key);
  void Wait(const ObjectKey& key, std::chrono::nanoseconds delay,
            void (Kubelets::*next)(const ObjectKey&, Run&));
  void Start(const ObjectKey& key, Run& run);
  void BecomeReady(const ObjectKey& key, Run& run);
  void Exit(const ObjectKey& key, Run& run);
  void WriteStatus(const ObjectKey& key, const Run& run);
  boost::json::array ContainerStatuses(const boost::json::object& pod, const Run& run,
                                       std::string_view list) const;
  boost::json::object StateOf(const Run& run) const;
  bool IsDown(std::string_view node) const;
  std::string Now() const;

  EventLoop& loop_;
  apiserver::Api& api_;
  const Index& index_;
  PodScript script_;
  Writer writer_;
  std::map<ObjectKey, Run> runs_;
};

}  // namespace kgpu::simcluster
