// Which devices belong to which container: the content of the kubelet's checkpoint.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "testing/kubelet/plugin_api.h"

namespace kgpu::kubelet {

// Devices without topology are listed under this.
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

// A value; at most one assignment per (pod, container, resource).
class PodDevices {
 public:
  void Insert(Assignment assignment);
  // Null if there is none. Valid until the next change.
  const Assignment* Find(const std::string& pod_uid, const std::string& container,
                         const std::string& resource) const;
  std::vector<const Assignment*> OfContainer(const std::string& pod_uid,
                                             const std::string& container) const;
  std::vector<const Assignment*> All() const;
  // All assigned ids, by resource.
  IdsByResource Allocated() const;
  // Forgets every pod that is not in `pod_uids`. True if there was one.
  bool KeepOnly(const std::set<std::string>& pod_uids);
  // The first pod with a device of this id, of any resource: the kubelet looks devices up only by
  // id here. Empty if there is none.
  std::string PodOfDevice(const std::string& id) const;

  // Adds what a container holds to `ids`, or removes it.
  void AddOfContainer(const std::string& pod_uid, const std::string& container,
                      IdsByResource& ids) const;
  void RemoveOfContainer(const std::string& pod_uid, const std::string& container,
                         IdsByResource& ids) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, Assignment> assignments_;
};

}  // namespace kgpu::kubelet
