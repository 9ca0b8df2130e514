#include "testing/kubelet/allocator.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "testing/kubelet/plugin_client.h"

namespace kgpu::kubelet {

// One pod on its way through admission.
struct Allocator::Work {
  PodSpec pod;
  std::vector<ContainerSpec> containers;  // those to look after
  std::function<bool(const std::string&)> is_running;
  Done done;

  size_t container = 0;                                    // index
  std::vector<std::pair<std::string, int64_t>> resources;  // still to do for it, the last first
  std::optional<NodeMask> affinity;
  bool has_changed = false;  // this container got something

  const ContainerSpec& current() const { return containers[container]; }
};

Allocator::Allocator(DeviceManager& manager, const Options& options)
    : manager_(manager), options_(options), random_(options.seed) {
}

Allocator::~Allocator() = default;

void Allocator::AllocatePod(const PodSpec& pod, std::function<bool(const std::string&)> is_running,
                            Done done) {
  auto work = std::make_shared<Work>();
  work->pod = pod;
  // Stable: the kubelet goes through init containers, then apps, each in the order of the spec.
  work->containers = pod.containers;
  std::ranges::stable_partition(work->containers, [](const ContainerSpec& container) {
    return container.kind != ContainerKind::kApp;
  });
  work->is_running = std::move(is_running);
  work->done = std::move(done);
  Begin(work);
}

void Allocator::AllocateContainer(const PodSpec& pod, const std::string& container, Done done) {
  auto work = std::make_shared<Work>();
  work->pod = pod;
  std::ranges::copy_if(pod.containers, std::back_inserter(work->containers),
                       [&](const ContainerSpec& spec) { return spec.name == container; });
  work->is_running = [](const std::string&) { return false; };
  work->done = std::move(done);
  Begin(work);
}

void Allocator::Begin(const WorkPtr& work) {
  busy_.insert(work);
  if (std::exchange(reuse_pod_, work->pod.uid) != work->pod.uid) {
    reuse_.clear();
  }
  NextContainer(work);
}

void Allocator::NextContainer(const WorkPtr& work) {
  if (work->container == work->containers.size()) {
    End(work, OkStatus());
    return;
  }
  const ContainerSpec& container = work->current();
  work->resources.assign(container.limits.begin(), container.limits.end());
  std::ranges::shuffle(work->resources, random_);
  work->has_changed = false;
  manager_.FreeInactive();
  if (const Status status = Align(work); !status.ok()) {
    End(work, status);
    return;
  }
  NextResource(work);
}

void Allocator::NextResource(const WorkPtr& work) {
  while (!work->resources.empty()) {
    const auto [resource, count] = work->resources.back();
    work->resources.pop_back();
    StatusOr<std::optional<Picker>> picker = Pick(work, resource, count);
    if (!picker.ok()) {
      End(work, picker.status());
      return;
    }
    if (!picker->has_value()) {
      continue;
    }
    manager_.Reserve(resource, (*picker)->chosen());
    if ((*picker)->is_complete()) {
      CallAllocate(work, resource, (*picker)->chosen());
    } else {
      AskPreference(work, resource, **std::move(picker));
    }
    return;  // goes on when the plugin has answered
  }
  EndContainer(work);
}

void Allocator::EndContainer(const WorkPtr& work) {
  const ContainerSpec& container = work->current();
  const PodDevices& pods = manager_.pods();
  if (container.kind == ContainerKind::kInit) {
    pods.AddOfContainer(work->pod.uid, container.name, reuse_);
  } else {
    pods.RemoveOfContainer(work->pod.uid, container.name, reuse_);
  }
  if (work->has_changed) {
    manager_.WriteCheckpoint();
  }
  ++work->container;
  NextContainer(work);
}

void Allocator::End(const WorkPtr& work, const Status& status) {
  busy_.erase(work);
  std::exchange(work->done, nullptr)(status);
}

std::optional<std::vector<Hint>> Allocator::HintsFor(const Work& work, const std::string& resource,
                                                     int64_t count) const {
  const Resource* entry = manager_.table().Find(resource);
  if (entry == nullptr || !entry->healthy) {
    return std::nullopt;
  }
  HintRequest request{
      .required = count, .devices = entry->devices, .available = {}, .reusable = {}};
  const Assignment* held = manager_.pods().Find(work.pod.uid, work.current().name, resource);
  if (held != nullptr) {
    request.available = held->ids();
    return HintsOf(request);
  }
  const DeviceIds in_use = manager_.InUse(resource);
  std::ranges::set_difference(*entry->healthy, in_use,
                              std::inserter(request.available, request.available.end()));
  if (const auto reusable = reuse_.find(resource); reusable != reuse_.end()) {
    request.reusable = reusable->second;
  }
  return HintsOf(request);
}

Status Allocator::Align(const WorkPtr& work) {
  work->affinity.reset();
  if (options_.policy == TopologyPolicy::kNone) {
    return OkStatus();
  }
  std::vector<std::optional<std::vector<Hint>>> hints;
  for (const auto& [resource, count] : work->resources) {
    hints.push_back(HintsFor(*work, resource, count));
  }
  const TopologyDecision decision = Decide(options_.policy, hints);
  if (!decision.is_admitted) {
    return FailedPrecondition("no NUMA nodes that satisfy the topology policy");
  }
  work->affinity = decision.affinity;
  return OkStatus();
}

StatusOr<std::optional<Picker>> Allocator::Pick(const WorkPtr& work, const std::string& resource,
                                                int64_t count) {
  if (!manager_.IsOurs(resource)) {
    return std::optional<Picker>();
  }
  const ContainerSpec& container = work->current();
  const Assignment* held = manager_.pods().Find(work->pod.uid, container.name, resource);
  const DeviceIds held_ids = held == nullptr ? DeviceIds() : held->ids();
  const auto held_count = static_cast<int64_t>(held_ids.size());
  if (held != nullptr && held_count != count) {
    return Internal("container {} holds {} of {}, its request is now {}", container.name,
                    held_count, resource, count);
  }
  if (!manager_.are_pods_known() && work->is_running(container.name)) {
    return std::optional<Picker>();
  }
  const Resource* entry = manager_.table().Find(resource);
  if (entry == nullptr || !entry->healthy) {
    return Internal("no plugin has registered {}", resource);
  }
  if (entry->healthy->empty()) {
    return Internal("no healthy devices of {}", resource);
  }
  if (!std::ranges::includes(*entry->healthy, held_ids)) {
    return Internal("devices of {} that the container had are no longer healthy", resource);
  }
  if (count == held_count) {
    return std::optional<Picker>();
  }
  PickRequest request{.resource = resource,
                      .required = count,
                      .healthy = *entry->healthy,
                      .in_use = manager_.InUse(resource),
                      .reusable = {},
                      .devices = entry->devices,
                      .affinity = work->affinity};
  if (const auto reusable = reuse_.find(resource); reusable != reuse_.end()) {
    request.reusable = reusable->second;
  }
  StatusOr<Picker> picker = Picker::Begin(std::move(request), random_);
  RETURN_IF_ERROR(picker.status());
  return std::optional<Picker>(*std::move(picker));
}

namespace {

Status StoppedError(const std::string& resource) {
  return Internal("the plugin of {} is stopped", resource);
}

// The client of a plugin that answers; null when it is stopped.
PluginClient* ClientOf(const DeviceManager& manager, const std::string& resource) {
  const Resource* entry = manager.table().Find(resource);
  return entry == nullptr || !entry->endpoint || entry->endpoint->stopped_at
             ? nullptr
             : entry->endpoint->client.get();
}

}  // namespace

void Allocator::AskPreference(const WorkPtr& work, const std::string& resource, Picker picker) {
  const Resource* entry = manager_.table().Find(resource);
  const bool is_asked = entry->endpoint && entry->endpoint->options &&
                        entry->endpoint->options->has_preferred_allocation;
  PluginClient* client = ClientOf(manager_, resource);
  if (is_asked && client == nullptr) {
    End(work, StoppedError(resource));
    return;
  }
  auto finish = [this, work, resource,
                 picker](const StatusOr<std::vector<std::string>>& preferred) mutable {
    if (!preferred.ok()) {
      End(work,
          Internal("GetPreferredAllocation of {}: {}", resource, Message(preferred.status())));
      return;
    }
    if (const Status status = picker.Finish(*preferred, random_); !status.ok()) {
      End(work, status);
      return;
    }
    manager_.Reserve(resource, picker.chosen());
    CallAllocate(work, resource, picker.chosen());
  };
  if (!is_asked) {
    finish(std::vector<std::string>());
    return;
  }
  client->GetPreferredAllocation(picker.Question(), lifeline_.Guard(std::move(finish)));
}

void Allocator::CallAllocate(const WorkPtr& work, const std::string& resource,
                             const DeviceIds& ids) {
  PluginClient* client = ClientOf(manager_, resource);
  if (client == nullptr) {
    manager_.ForgetReservations();
    End(work, StoppedError(resource));
    return;
  }
  std::vector<std::string> order(ids.begin(), ids.end());
  std::ranges::shuffle(order, random_);
  client->Allocate(order, lifeline_.Guard([this, work, resource,
                                           ids](const StatusOr<ContainerOptions>& options) {
    if (!options.ok()) {
      manager_.ForgetReservations();
      End(work, Internal("Allocate of {}: {}", resource, Message(options.status())));
      return;
    }
    manager_.Assign(work->pod.uid, work->current().name, resource, ids, *options);
    work->has_changed = true;
    NextResource(work);
  }));
}

}  // namespace kgpu::kubelet
