// What the kubelet does with device plugins each time before it starts a container.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "src/platform/base/status.h"
#include "testing/kubelet/allocator.h"
#include "testing/kubelet/constants.h"
#include "testing/kubelet/device_manager.h"
#include "testing/kubelet/dra_manager.h"
#include "testing/kubelet/lifeline.h"
#include "testing/kubelet/pod.h"

namespace kgpu::kubelet {

// Lives on the loop's thread.
class Preparer {
 public:
  using Done = std::function<void(const StatusOr<ContainerOptions>&)>;

  // All arguments must outlive this.
  Preparer(DeviceManager& manager, const DraManager& dra, Allocator& allocator,
           const Constants& constants);
  ~Preparer();
  Preparer(const Preparer&) = delete;
  Preparer& operator=(const Preparer&) = delete;

  // PreStartContainer for each resource whose plugin requires it, allocation of what is missing (a
  // race during a restart of the node), then the CDI devices of the container's claims and the
  // cached replies of all resources, merged.
  void Prepare(const PodSpec& pod, const ContainerSpec& container, Done done);

 private:
  struct Work;
  using WorkPtr = std::shared_ptr<Work>;

  void Next(const WorkPtr& work);
  // False if the call is in progress and continues by itself.
  StatusOr<bool> PreStart(const WorkPtr& work, const std::string& resource);
  void Finish(const WorkPtr& work);
  void End(const WorkPtr& work, const StatusOr<ContainerOptions>& options);
  StatusOr<ContainerOptions> Merged(const Work& work) const;

  DeviceManager& manager_;
  const DraManager& dra_;
  Allocator& allocator_;
  const Constants& constants_;
  std::set<WorkPtr> busy_;
  Lifeline lifeline_;
};

}  // namespace kgpu::kubelet
