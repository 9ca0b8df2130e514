// Allocates devices to containers, like the kubelet's device manager when it admits a pod.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "src/platform/base/status.h"
#include "testing/kubelet/device_manager.h"
#include "testing/kubelet/lifeline.h"
#include "testing/kubelet/picker.h"
#include "testing/kubelet/pod.h"
#include "testing/kubelet/topology.h"

namespace kgpu::kubelet {

// Lives on the loop's thread. Random choices (the order of ids and of resources) come from a seed.
class Allocator {
 public:
  // FailedPrecondition for a pod that the topology policy rejects, any other error for one that
  // cannot have its devices.
  using Done = std::function<void(const Status&)>;

  struct Options {
    TopologyPolicy policy = TopologyPolicy::kNone;
    uint32_t seed = 1;
  };

  // `manager` must outlive the allocator.
  Allocator(DeviceManager& manager, const Options& options);
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // Every container of `pod`, init containers first. While the kubelet does not know all pods yet,
  // containers that already run need nothing.
  void AllocatePod(const PodSpec& pod, std::function<bool(const std::string&)> is_running,
                   Done done);
  // One container, as the kubelet does if it starts one without a cached state.
  void AllocateContainer(const PodSpec& pod, const std::string& container, Done done);

 private:
  struct Work;
  using WorkPtr = std::shared_ptr<Work>;

  void Begin(const WorkPtr& work);
  void NextContainer(const WorkPtr& work);
  void NextResource(const WorkPtr& work);
  void EndContainer(const WorkPtr& work);
  void End(const WorkPtr& work, const Status& status);
  Status Align(const WorkPtr& work);
  std::optional<std::vector<Hint>> HintsFor(const Work& work, const std::string& resource,
                                            int64_t count) const;
  // What is still missing of one resource; nothing if it is complete.
  StatusOr<std::optional<Picker>> Pick(const WorkPtr& work, const std::string& resource,
                                       int64_t count);
  void AskPreference(const WorkPtr& work, const std::string& resource, Picker picker);
  void CallAllocate(const WorkPtr& work, const std::string& resource, const DeviceIds& ids);

  DeviceManager& manager_;
  Options options_;
  std::mt19937 random_;
  // Devices of ended init containers, for the last pod processed.
  std::string reuse_pod_;
  IdsByResource reuse_;
  std::set<WorkPtr> busy_;
  Lifeline lifeline_;
};

}  // namespace kgpu::kubelet
