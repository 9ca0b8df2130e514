#include "testing/kubelet/pod_devices.h"

#include <utility>

namespace kgpu::kubelet {

DeviceIds Assignment::ids() const {
  DeviceIds ids;
  for (const auto& [node, devices] : by_node) {
    ids.insert(devices.begin(), devices.end());
  }
  return ids;
}

void PodDevices::Insert(Assignment assignment) {
  Key key(assignment.pod_uid, assignment.container, assignment.resource);
  assignments_.insert_or_assign(std::move(key), std::move(assignment));
}

const Assignment* PodDevices::Find(const std::string& pod_uid, const std::string& container,
                                   const std::string& resource) const {
  const auto found = assignments_.find({pod_uid, container, resource});
  return found == assignments_.end() ? nullptr : &found->second;
}

std::vector<const Assignment*> PodDevices::OfContainer(const std::string& pod_uid,
                                                       const std::string& container) const {
  std::vector<const Assignment*> found;
  for (auto at = assignments_.lower_bound({pod_uid, container, ""});
       at != assignments_.end() && at->second.pod_uid == pod_uid &&
       at->second.container == container;
       ++at) {
    found.push_back(&at->second);
  }
  return found;
}

std::vector<const Assignment*> PodDevices::All() const {
  std::vector<const Assignment*> all;
  all.reserve(assignments_.size());
  for (const auto& [key, assignment] : assignments_) {
    all.push_back(&assignment);
  }
  return all;
}

IdsByResource PodDevices::Allocated() const {
  IdsByResource allocated;
  for (const auto& [key, assignment] : assignments_) {
    allocated[assignment.resource].merge(assignment.ids());
  }
  return allocated;
}

bool PodDevices::KeepOnly(const std::set<std::string>& pod_uids) {
  return std::erase_if(assignments_, [&](const auto& entry) {
           return !pod_uids.contains(entry.second.pod_uid);
         }) > 0;
}

std::string PodDevices::PodOfDevice(const std::string& id) const {
  for (const auto& [key, assignment] : assignments_) {
    if (assignment.ids().contains(id)) {
      return assignment.pod_uid;
    }
  }
  return "";
}

void PodDevices::AddOfContainer(const std::string& pod_uid, const std::string& container,
                                IdsByResource& ids) const {
  for (const Assignment* assignment : OfContainer(pod_uid, container)) {
    ids[assignment->resource].merge(assignment->ids());
  }
}

void PodDevices::RemoveOfContainer(const std::string& pod_uid, const std::string& container,
                                   IdsByResource& ids) const {
  for (const Assignment* assignment : OfContainer(pod_uid, container)) {
    for (const std::string& id : assignment->ids()) {
      ids[assignment->resource].erase(id);
    }
  }
}

}  // namespace kgpu::kubelet
