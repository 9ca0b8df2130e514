// Which devices belong to which container: what the kubelet keeps in its checkpoint.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "testing/kubelet/plugin_api.h"

namespace kgpu::kubelet {

// Where devices without topology are listed.
inline constexpr int64_t kNoNode = -1;

struct Assignment {
  std::string pod_uid;
  std::string container;
  std::string resource;
  // By NUMA node; a device of several nodes is listed under each.
  std::map<int64_t, std::vector<std::string>> by_node;
  ContainerOptions options;  // the cached Allocate reply

  DeviceIds ids() const;
  bool operator==(const Assignment&) const = default;
};

using IdsByResource = std::map<std::string, DeviceIds>;

// A value; at most one assignment for each (pod, container, resource).
class PodDevices {
 public:
  void Insert(Assignment assignment);
  // Null when there is none. Valid until the next change.
  const Assignment* Find(const std::string& pod_uid, const std::string& container,
                         const std::string& resource) const;
  std::vector<const Assignment*> OfContainer(const std::string& pod_uid,
                                             const std::string& container) const;
  std::vector<const Assignment*> All() const;
  // Every assigned id of each resource that has one.
  IdsByResource Allocated() const;
  // Forgets every pod that is not among `pod_uids`. True when there was one.
  bool KeepOnly(const std::set<std::string>& pod_uids);
  // The first pod that holds a device of this id, of whatever resource: the kubelet looks devices
  // up by id alone here. Empty when nobody does.
  std::string PodOfDevice(const std::string& id) const;

  // Adds (or takes) what a container holds to (from) `ids`.
  void AddOfContainer(const std::string& pod_uid, const std::string& container,
                      IdsByResource& ids) const;
  void RemoveOfContainer(const std::string& pod_uid, const std::string& container,
                         IdsByResource& ids) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, Assignment> assignments_;
};

}  // namespace kgpu::kubelet
