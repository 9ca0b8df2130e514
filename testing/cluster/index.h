// The pods and nodes of the API server as the controllers see them: parsed once per change, and
// found by owner and by node. Changes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "testing/apiserver/store.h"
#include "testing/cluster/amounts.h"

namespace kgpu::simcluster {

using apiserver::ObjectKey;
using apiserver::StoredPtr;

struct PodInfo {
  StoredPtr object;
  std::string uid{};
  std::string owner{};  // uid of the controller; "": none
  std::string node{};
  std::string phase{};
  std::string hash{};  // label controller-revision-hash or pod-template-hash
  Amounts requests{};
  bool is_ready = false;
  bool is_deleted = false;
  bool is_over() const { return phase == "Succeeded" || phase == "Failed"; }
};

struct NodeInfo {
  StoredPtr object;
  Amounts allocatable{};
  Amounts used{};  // by pods that are not over
  std::set<ObjectKey> pods{};
  uint64_t rules_revision = 0;  // of the last change of its labels, taints or cordon
};

// Whether two states of a node have the same labels, taints and cordon: what decides which pods may
// run there.
bool HasSameRules(const boost::json::object& a, const boost::json::object& b);

class Index {
 public:
  void Apply(const apiserver::Change& change);

  // Null: there is none.
  const PodInfo* Pod(const ObjectKey& key) const;
  const NodeInfo* Node(std::string_view name) const;
  const std::map<ObjectKey, PodInfo>& pods() const { return pods_; }
  const std::map<std::string, NodeInfo, std::less<>>& nodes() const { return nodes_; }
  const std::set<ObjectKey>& PodsOf(std::string_view owner_uid) const;
  // Not on a node and not over.
  const std::set<ObjectKey>& unscheduled() const { return unscheduled_; }

 private:
  void ApplyPod(const apiserver::Change& change);
  void ApplyNode(const apiserver::Change& change);
  void Drop(const ObjectKey& key);
  void Count(const PodInfo& pod, const ObjectKey& key, int64_t sign);

  std::map<ObjectKey, PodInfo> pods_;
  std::map<std::string, NodeInfo, std::less<>> nodes_;
  std::map<std::string, std::set<ObjectKey>, std::less<>> by_owner_;
  std::map<std::string, std::set<ObjectKey>, std::less<>> by_node_;
  std::set<ObjectKey> unscheduled_;
};

}  // namespace kgpu::simcluster
