// What the controller knows of the cluster: policies, nodes, pods, each as small as it can be. The
// answers to its own writes count at once, before the watch brings them.
#pragma once

#include <boost/json/value.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/cluster/fleet/node_facts.h"
#include "src/cluster/policy/gpu_policy.h"
#include "src/platform/base/clock.h"

namespace kgpu::controller {

using ObjectPtr = std::shared_ptr<const boost::json::value>;

// A node's policy and group: indexes into Model::policies() and its groups.
struct Membership {
  std::string policy{};
  size_t group = 0;
  std::string also{};  // another group that selects it, "p/g"; empty: none
  bool operator==(const Membership&) const = default;
};

struct NodeEntry {
  fleet::NodeFacts facts{};
  std::optional<Membership> member{};
  bool is_own_write = false;  // facts are the answer to a write, at `written`
  SteadyTime written{};
};

struct PolicyEntry {
  std::optional<policy::GpuPolicy> policy{};  // the last valid one; nothing: there was none
  std::string problem{};                      // why the current object is invalid
  std::string name{};
  std::string uid{};
  std::string version{};
  int64_t generation = 0;
  boost::json::value status{};
  std::set<std::string> starting{};  // status.starting: nodes that may be cordoned
};

// Lives on the loop's thread.
class Model {
 public:
  // The labels of nodes that policies look at or set.
  const fleet::KeySet& label_keys() const { return label_keys_; }

  // Each returns whether anything changed that matters. An object from the watch that is older than
  // the answer to our write is ignored for a minute; an answer about an object that is not in the
  // model always.
  bool PutNode(const boost::json::value& node, SteadyTime now, bool is_own_write);
  bool RemoveNode(std::string_view name);
  bool PutPod(const ObjectPtr& pod);
  bool RemovePod(const boost::json::value& pod);
  bool PutPolicy(const boost::json::value& policy, SteadyTime now, bool is_own_write);
  bool RemovePolicy(std::string_view name);
  // The server has refused a pod of ours for the node; forgotten once there is one.
  void SetPodProblem(const std::string& node, std::string problem);
  // The driver's DaemonSet; null: there is none.
  void SetDriverSet(const boost::json::value* daemon_set);
  void SetConfigMap(const boost::json::value* config_map);

  const std::map<std::string, NodeEntry, std::less<>>& nodes() const { return nodes_; }
  const std::map<std::string, PolicyEntry, std::less<>>& policies() const { return policies_; }
  // The pods on a node, those that use GPUs and our own.
  std::vector<fleet::PodFacts> PodsOn(std::string_view node) const;
  // Nothing: there is none of that "namespace/name".
  std::optional<fleet::PodFacts> FindPod(const std::string& key) const;
  // Why the server refused a pod of ours for the node; empty: it did not.
  std::string PodProblem(std::string_view node) const;
  // Our own pods: "namespace/name" → node.
  const std::map<std::string, std::string, std::less<>>& own_pods() const { return own_pods_; }
  const boost::json::value& config_map() const { return config_map_; }

  const policy::GpuPolicy* PolicyOf(const NodeEntry& node) const;
  const policy::Group* GroupOf(const NodeEntry& node) const;
  // Whether nothing may be concluded about what this policy wants.
  bool IsUnknown(std::string_view policy) const;
  // Whether a policy that goes before it has no valid spec: its nodes may be that one's.
  bool IsShadowed(std::string_view policy) const;
  // Why the DaemonSet would not install `target`; empty: it would.
  std::string DriverSetProblem(std::string_view target) const;

 private:
  void Regroup();
  std::optional<Membership> MembershipOf(const fleet::NodeFacts& node) const;

  fleet::KeySet label_keys_;
  std::map<std::string, NodeEntry, std::less<>> nodes_;
  std::map<std::string, PolicyEntry, std::less<>> policies_;
  std::map<std::string, SteadyTime, std::less<>> policy_writes_;
  std::map<std::string, std::map<std::string, ObjectPtr>, std::less<>> pods_;  // by node, by key
  std::map<std::string, std::string, std::less<>> pod_nodes_;                  // key → node
  std::map<std::string, std::string, std::less<>> own_pods_;
  std::map<std::string, std::string, std::less<>> pod_problems_;  // by node
  std::vector<std::string> driver_args_;
  bool has_driver_set_ = false;
  boost::json::value config_map_;
};

// Whether resource version `a` is older than `b`; versions that are no numbers never are.
bool IsOlder(std::string_view a, std::string_view b);

}  // namespace kgpu::controller
