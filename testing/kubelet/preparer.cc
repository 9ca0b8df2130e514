#include "testing/kubelet/preparer.h"

#include <utility>
#include <vector>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "testing/kubelet/merge.h"
#include "testing/kubelet/plugin_client.h"

namespace kgpu::kubelet {

struct Preparer::Work {
  PodSpec pod;
  ContainerSpec container;
  Done done;
  std::vector<std::string> resources;  // still to do, the last first
  bool is_incomplete = false;
};

Preparer::Preparer(DeviceManager& manager, const DraManager& dra, Allocator& allocator,
                   const Constants& constants)
    : manager_(manager), dra_(dra), allocator_(allocator), constants_(constants) {
}

Preparer::~Preparer() = default;

void Preparer::Prepare(const PodSpec& pod, const ContainerSpec& container, Done done) {
  auto work = std::make_shared<Work>();
  work->pod = pod;
  work->container = container;
  work->done = std::move(done);
  for (const auto& [resource, count] : container.limits) {
    if (count > 0) {
      work->resources.push_back(resource);
    }
  }
  busy_.insert(work);
  Next(work);
}

void Preparer::Next(const WorkPtr& work) {
  while (!work->resources.empty()) {
    const std::string resource = std::move(work->resources.back());
    work->resources.pop_back();
    if (!manager_.IsOurs(resource)) {
      continue;
    }
    const StatusOr<bool> is_done = PreStart(work, resource);
    if (!is_done.ok()) {
      End(work, is_done.status());
      return;
    }
    if (manager_.pods().Find(work->pod.uid, work->container.name, resource) == nullptr) {
      work->is_incomplete = true;
    }
    if (!*is_done) {
      return;
    }
  }
  Finish(work);
}

StatusOr<bool> Preparer::PreStart(const WorkPtr& work, const std::string& resource) {
  const Resource* entry = manager_.table().Find(resource);
  if (entry == nullptr || !entry->endpoint) {
    return Internal("the plugin of {} has been gone for too long", resource);
  }
  const Endpoint& endpoint = *entry->endpoint;
  // After a kubelet restart the options are unknown until the plugin has registered again.
  if (!endpoint.options || !endpoint.options->pre_start_required) {
    return true;
  }
  const Assignment* held = manager_.pods().Find(work->pod.uid, work->container.name, resource);
  if (held == nullptr) {
    return Internal("container {} has no device of {}", work->container.name, resource);
  }
  if (endpoint.stopped_at) {
    return Internal("PreStartContainer of {}: the plugin is stopped", resource);
  }
  const DeviceIds ids = held->ids();
  endpoint.client->PreStartContainer({ids.begin(), ids.end()}, constants_.pre_start_limit,
                                     lifeline_.Guard([this, work, resource](const Status& status) {
                                       if (!status.ok()) {
                                         End(work,
                                             Annotate(status, "PreStartContainer of {}", resource));
                                         return;
                                       }
                                       Next(work);
                                     }));
  return false;
}

void Preparer::Finish(const WorkPtr& work) {
  if (!std::exchange(work->is_incomplete, false)) {
    End(work, Merged(*work));
    return;
  }
  allocator_.AllocateContainer(work->pod, work->container.name,
                               lifeline_.Guard([this, work](const Status& status) {
                                 if (!status.ok()) {
                                   End(work, status);
                                   return;
                                 }
                                 End(work, Merged(*work));
                               }));
}

void Preparer::End(const WorkPtr& work, const StatusOr<ContainerOptions>& options) {
  busy_.erase(work);
  std::exchange(work->done, nullptr)(options);
}

StatusOr<ContainerOptions> Preparer::Merged(const Work& work) const {
  const std::string& container = work.container.name;
  ASSIGN_OR_RETURN(std::vector<std::string> claimed, dra_.CdiIds(work.pod, work.container));
  ContainerOptions merged;
  MergeInto(merged, {.envs = {},
                     .mounts = {},
                     .devices = {},
                     .annotations = {},
                     .cdi_devices = std::move(claimed)});
  for (const Assignment* assignment : manager_.pods().OfContainer(work.pod.uid, container)) {
    for (const std::string& dropped : MergeInto(merged, assignment->options)) {
      KGPU_LOG(kWarning, "device plugins differ", {"container", container}, {"dropped", dropped});
    }
  }
  return merged;
}

}  // namespace kgpu::kubelet
