#include "testing/kubelet/pod_store.h"

#include <algorithm>
#include <set>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "testing/kubelet/resource_name.h"
#include "testing/kubelet/uid.h"

namespace kgpu::kubelet {
namespace {

bool IsLabel(const std::string& name) {
  constexpr size_t kMost = 63;
  return !name.empty() && name.size() <= kMost && name.front() != '-' && name.back() != '-' &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

Status CheckContainer(const PodSpec& pod, const ContainerSpec& container,
                      std::set<std::string>& names) {
  if (!IsLabel(container.name)) {
    return InvalidArgument(
        "container name \"{}\": must be lower-case letters, digits and \"-\", at most 63",
        container.name);
  }
  if (!names.insert(container.name).second) {
    return InvalidArgument("duplicate container name \"{}\"", container.name);
  }
  for (const auto& [resource, count] : container.limits) {
    if (!IsExtendedResourceName(resource)) {
      return InvalidArgument("resource \"{}\": must be of the form vendor.com/name", resource);
    }
    if (count < 0) {
      return InvalidArgument("resource {}: {} must be 0 or more", resource, count);
    }
  }
  for (const ClaimReference& reference : container.claim_references) {
    if (std::ranges::find(pod.claims, reference.claim, &PodClaim::name) == pod.claims.end()) {
      return InvalidArgument("container {}: claim \"{}\" is none of the pod's claims",
                             container.name, reference.claim);
    }
  }
  return OkStatus();
}

Status Check(const PodSpec& spec) {
  if (!IsLabel(spec.name) || !IsLabel(spec.name_space)) {
    return InvalidArgument(
        "pod \"{}\" in \"{}\": names must be lower-case letters, digits, \"-\" and \".\", at "
        "most 63",
        spec.name, spec.name_space);
  }
  std::set<std::string> names;
  for (const ContainerSpec& container : spec.containers) {
    RETURN_IF_ERROR(CheckContainer(spec, container, names));
  }
  if (std::ranges::none_of(spec.containers, [](const ContainerSpec& container) {
        return container.kind == ContainerKind::kApp;
      })) {
    return InvalidArgument("pod {}: needs a container that is not an init container", spec.name);
  }
  return OkStatus();
}

}  // namespace

std::string PodKey(const std::string& name_space, const std::string& name) {
  return name_space == "default" ? name : fmt::format("{}/{}", name_space, name);
}

StatusOr<std::string> PodStore::Add(PodSpec spec) {
  RETURN_IF_ERROR(Check(spec));
  const std::string key = PodKey(spec.name_space, spec.name);
  if (FindKey(key) != nullptr) {
    return AlreadyExists("pod {}: already exists; delete it first or use another name", key);
  }
  if (spec.uid.empty()) {
    spec.uid = NewUid();
  }
  std::string uid = spec.uid;
  Pod pod;
  for (const ContainerSpec& container : spec.containers) {
    ContainerStatus& status = pod.status.containers.emplace_back();
    status.name = container.name;
    status.kind = container.kind;
  }
  pod.status.is_bound = !spec.waits_for_resources;
  pod.spec = std::move(spec);
  pods_.emplace(next_++, std::move(pod));
  changed_();
  return uid;
}

void PodStore::Erase(const std::string& uid) {
  std::erase_if(pods_, [&](const auto& entry) { return entry.second.spec.uid == uid; });
  changed_();
}

void PodStore::Restore(std::vector<Pod> pods) {
  for (Pod& pod : pods) {
    pods_.emplace(next_++, std::move(pod));
  }
}

void PodStore::AddEvent(const std::string& uid, const std::string& reason,
                        const std::string& message) {
  Pod* pod = FindUid(uid);
  if (pod == nullptr) {
    return;
  }
  std::vector<PodEvent>& events = pod->status.events;
  const auto same = std::ranges::find_if(events, [&](const PodEvent& event) {
    return event.reason == reason && event.message == message;
  });
  if (same != events.end()) {
    ++same->count;
  } else {
    events.push_back({.reason = reason, .message = message});
    if (events.size() > Pod::kMostEvents) {
      events.erase(events.begin());
    }
  }
  changed_();
}

Pod* PodStore::FindUid(const std::string& uid) {
  const auto found =
      std::ranges::find_if(pods_, [&](const auto& entry) { return entry.second.spec.uid == uid; });
  return found == pods_.end() ? nullptr : &found->second;
}

Pod* PodStore::FindKey(const std::string& key) {
  const auto found = std::ranges::find_if(pods_, [&](const auto& entry) {
    return PodKey(entry.second.spec.name_space, entry.second.spec.name) == key;
  });
  return found == pods_.end() ? nullptr : &found->second;
}

std::vector<Pod*> PodStore::All() {
  std::vector<Pod*> all;
  all.reserve(pods_.size());
  for (auto& [number, pod] : pods_) {
    all.push_back(&pod);
  }
  return all;
}

}  // namespace kgpu::kubelet
