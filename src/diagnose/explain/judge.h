// Whether a pod fits a node, and what is wrong with the pod itself. Pure.
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

// What the pods on a node have of it.
struct NodeUse {
  Amounts used{};
  std::vector<const Holder*> holders{};
};

// The pod and all that it is held against, with what is looked up often made once. Borrows the
// facts.
struct Case {
  Case(const Facts& all_facts, const Pod& the_pod);

  const Facts& facts;
  const Pod& pod;  // facts.pod
  Amounts wants{};
  std::vector<std::string> devices{};  // extended resources among `wants`
  std::map<std::string_view, NodeUse> uses{};
  std::vector<const Claim*> claims{};  // those of the pod that are there
  // Devices that claims have for themselves: driver, pool, device.
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> taken{};
  // Of the newest generation of their pools, by node; empty: of no one node.
  std::map<std::string_view, std::vector<const Slice*>> slices{};

  const NodeUse& UseOf(const Node& node) const;
  // Allocatable, less what is used; never below zero.
  Amount FreeOn(const Node& node, std::string_view resource) const;
  // The class that serves `resource` by DRA; null: none.
  const DeviceClass* ClassOf(std::string_view resource) const;
  // Whether the scheduler would leave `resource` on `node` to DRA, where it does that at all.
  bool IsLeftToDra(const Node& node, std::string_view resource) const;
};

// Why `node` does not fit; empty: as far as is judged here it does.
Reasons NodeReasons(const Case& c, const Node& node);
// The part of it that is about devices.
Reasons DeviceReasons(const Case& c, const Node& node);
// What is the pod's own, as long as it is not scheduled.
Reasons PodReasons(const Case& c);
// The part of it that is about the scheduler's ways.
Reasons SchedulerReasons(const Case& c);
// The part that is about resource claims: of the pod, and of a node.
Reasons ClaimReasons(const Case& c);
Reasons NodeClaimReasons(const Case& c, const Node& node);
// What went wrong behind the scheduler.
Reasons TroubleReasons(const Case& c);
// Of a pod that is not there: what the events of its namespace say.
Reasons AbsentReasons(const Facts& facts);
// What of its amounts the rules of the namespace forbid, for a pod that no server has taken yet.
Reasons RuleReasons(const Case& c);

// Whether a node has GPUs, whatever its kubelet knows of them.
bool HasGpus(const Node& node);
// Extended resources that the node has, "nvidia.com/gpu 8, nvidia.com/mig-1g.10gb 2".
std::string Offers(const Node& node);

// "Ready=False, KubeletNotReady: …".
std::string TextOf(const Condition& condition);

// The last event about the pod with one of these reasons; null: none.
const Event* LastEvent(const Case& c, std::initializer_list<std::string_view> reasons);

}  // namespace kgpu::explain
