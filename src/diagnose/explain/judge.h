// Whether a pod fits a node, and what is wrong with the pod itself. Pure functions.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/diagnose/explain/facts.h"
#include "src/diagnose/explain/reason.h"

namespace kgpu::explain {

// How much of it the pods on a node hold.
struct NodeUse {
  Amounts used{};
  std::vector<const Holder*> holders{};
};

// The pod and everything it is checked against, with indexes for frequent look-ups. Borrows the
// facts.
struct Case {
  Case(const Facts& all_facts, const Pod& the_pod);

  const Facts& facts;
  const Pod& pod;  // facts.pod
  Amounts wants{};
  std::vector<std::string> devices{};  // extended resources among `wants`
  std::map<std::string_view, NodeUse> uses{};
  std::vector<const Claim*> claims{};  // the pod's claims that exist
  // Devices that claims hold exclusively: driver, pool, device.
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> taken{};
  // Slices of their pools' newest generation, by node; empty: not tied to a node.
  std::map<std::string_view, std::vector<const Slice*>> slices{};

  const NodeUse& UseOf(const Node& node) const;
  // Allocatable minus used; never below zero.
  Amount FreeOn(const Node& node, std::string_view resource) const;
  // The class that serves `resource` through DRA; null: none.
  const DeviceClass* ClassOf(std::string_view resource) const;
  // Whether the scheduler would leave `resource` on `node` to DRA, if it supports that.
  bool IsLeftToDra(const Node& node, std::string_view resource) const;
};

// Why `node` does not fit; empty: it fits, as far as we can judge.
Reasons NodeReasons(const Case& c, const Node& node);
// The device reasons among them.
Reasons DeviceReasons(const Case& c, const Node& node);
// Reasons in the pod itself, as long as it is not scheduled.
Reasons PodReasons(const Case& c);
// Those about scheduling rules and the scheduler.
Reasons SchedulerReasons(const Case& c);
// Those about resource claims: of the pod, and of a node.
Reasons ClaimReasons(const Case& c);
Reasons NodeClaimReasons(const Case& c, const Node& node);
// What went wrong after scheduling.
Reasons TroubleReasons(const Case& c);
// For a pod that does not exist: what its namespace's events say.
Reasons AbsentReasons(const Facts& facts);
// Which of its amounts the namespace's rules forbid, for a pod that no server has accepted yet.
Reasons RuleReasons(const Case& c);

// Whether a node has GPUs, even if its kubelet does not know them.
bool HasGpus(const Node& node);
// The node's extended resources, "nvidia.com/gpu 8, nvidia.com/mig-1g.10gb 2".
std::string Offers(const Node& node);

// "Ready=False, KubeletNotReady: …".
std::string TextOf(const Condition& condition);

// The last event about the pod with one of these reasons; null: none.
const Event* LastEvent(const Case& c, std::initializer_list<std::string_view> reasons);

}  // namespace kgpu::explain
