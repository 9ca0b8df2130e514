// The input of `kgpu explain`: a pod, the nodes, the holders of their GPUs, and the namespace's
// rules, as plain values. What a server or file left out is empty.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/amount.h"

namespace kgpu::explain {

struct Dump;

using Texts = std::map<std::string, std::string, std::less<>>;

struct Condition {
  std::string type{};
  std::string status{};  // True, False, Unknown
  std::string reason{};
  std::string message{};
  std::string since{};  // lastTransitionTime
};
// Null if there is none of that type.
const Condition* FindCondition(const std::vector<Condition>& conditions, std::string_view type);

struct Taint {
  std::string key{};
  std::string value{};
  std::string effect{};
};

struct Toleration {
  std::string key{};
  std::string op{};  // Equal, Exists, Gt, Lt; empty: Equal
  std::string value{};
  std::string effect{};  // empty: every one
};

// One requirement of a node selector.
struct Requirement {
  std::string key{};
  std::string op{};  // In, NotIn, Exists, DoesNotExist, Gt, Lt
  std::vector<std::string> values{};
};

// All of them must hold.
struct SelectorTerm {
  std::vector<Requirement> labels{};
  std::vector<Requirement> fields{};  // of metadata.name
};

struct ContainerSpec {
  std::string name{};
  std::string image{};
  Amounts requests{};
  Amounts limits{};
  std::vector<std::string> wrong{};        // "requests.nvidia.com/gpu: x": what is no quantity
  std::vector<std::string> environment{};  // what IsJudgedVariable says: "NAME=value"
  bool is_init = false;
  bool is_sidecar = false;  // an init container that keeps running
};

struct ContainerStatus {
  std::string name{};
  bool is_running = false;
  std::string reason{};  // why it waits or ended: "ImagePullBackOff", "OOMKilled"
  std::string message{};
  std::optional<int64_t> exit_code{};  // if it has ended
  std::string last_reason{};           // of the previous run
  std::string last_message{};
  std::optional<int64_t> last_exit_code{};
  int64_t restarts = 0;
};

// A claim as a pod refers to it.
struct ClaimUse {
  std::string name{};
  std::string claim{};      // the object's; empty: not created yet
  std::string made_from{};  // the template, if it has one
};

// The sum over a pod's containers, as the scheduler counts.
struct Pod {
  std::string space{};
  std::string name{};
  std::string uid{};    // empty: a manifest that no server has accepted
  std::string owner{};  // "ReplicaSet/train-6d4f"
  std::string node{};   // empty: not scheduled
  std::string phase{};
  std::string reason{};
  std::string message{};
  std::string started{};  // or created, if it did not start
  bool is_deleted = false;
  int64_t priority = 0;
  std::string priority_class{};
  std::string preemption_policy{};
  std::string runtime_class{};
  std::string scheduler{};
  std::string nominated_node{};
  std::vector<std::string> gates{};
  Texts selector{};
  // requiredDuringSchedulingIgnoredDuringExecution: one term must match; nothing: no such
  // rule.
  std::optional<std::vector<SelectorTerm>> affinity{};
  std::vector<Toleration> tolerations{};
  std::vector<ContainerSpec> containers{};  // init containers first
  std::vector<ContainerStatus> statuses{};
  std::vector<Condition> conditions{};
  std::vector<ClaimUse> claims{};
  Amounts overhead{};
  Amounts of_all{};  // spec.resources, if given: of all containers together
  // Scheduler rules that are not judged here, by their usual names.
  std::vector<std::string> not_judged{};

  std::string Title() const;  // "team-a/train"
  Amounts Requests() const;
};

struct Node {
  std::string name{};
  Texts labels{};
  Texts annotations{};  // kgpu.dev/… only
  std::vector<Taint> taints{};
  bool is_unschedulable = false;
  std::vector<Condition> conditions{};
  Amounts capacity{};
  Amounts allocatable{};
};

// Another pod's share of a node.
struct Holder {
  std::string title{};  // "team-a/train"
  std::string node{};
  std::string since{};
  int64_t priority = 0;
  bool is_deleted = false;
  bool is_nominated = false;  // not there yet: the scheduler reserves the room for it
  Amounts requests{};
};

struct Event {
  std::string kind{};  // of the object it is about
  std::string space{};
  std::string name{};
  std::string uid{};
  std::string reason{};
  std::string message{};
  std::string time{};  // of the last one
};

struct Quota {
  std::string space{};
  std::string name{};
  std::vector<Requirement> scopes{};  // a pod must match these to count; the key is the scope
  Amounts hard{};
  Amounts used{};
};

// An entry of a LimitRange.
struct Limit {
  std::string space{};
  std::string range{};  // the object
  std::string type{};   // Container, Pod
  Amounts least{};
  Amounts most{};
};

struct ClaimRequest {
  std::string name{};
  std::vector<std::string> classes{};  // several: the first that exists
  int64_t count = 1;
  bool wants_all = false;
  bool is_admin = false;       // only observes: may get a device that others have
  bool has_selectors = false;  // of its own
  std::vector<Toleration> tolerations{};
};

struct ClaimResult {
  std::string driver{};
  std::string pool{};
  std::string device{};
  bool is_shared = false;  // others can have the device too: as administrator, or a share
};

struct Claim {
  std::string space{};
  std::string name{};
  std::vector<ClaimRequest> requests{};
  bool is_allocated = false;
  std::vector<ClaimResult> results{};
  std::optional<std::vector<SelectorTerm>> nodes{};  // where the allocation is usable
};

struct DeviceClass {
  std::string name{};
  std::string driver{};       // named by its selectors; empty: unknown
  bool is_of_driver = false;  // and they say nothing else
  std::string resource{};     // extendedResourceName
};

struct Slice {
  std::string driver{};
  std::string pool{};
  std::string node{};      // empty: not tied to a node
  int64_t generation = 0;  // of the pool: older slices do not count
  std::vector<std::string> devices{};
  std::set<std::string> shared{};                      // of those devices: several may hold one
  std::map<std::string, std::vector<Taint>> taints{};  // of those devices; NoSchedule and NoExecute
};

// A device resource: its name has a domain other than Kubernetes' own.
bool IsExtended(std::string_view resource);

// A device that the pod has according to the node's kubelet.
struct HeldDevice {
  std::string container{};
  std::string resource{};
  std::string id{};
};

struct Facts {
  std::string wanted_space{};
  std::string wanted_name{};
  std::optional<Pod> pod{};
  std::vector<Node> nodes{};
  std::vector<Holder> holders{};  // pods on a node that have not ended, except the pod itself
  std::vector<Event> events{};    // oldest first
  std::vector<Quota> quotas{};
  std::vector<Limit> limits{};
  std::set<std::string> runtime_classes{};
  std::vector<Claim> claims{};
  std::set<std::string> claim_templates{};  // in the namespace
  std::vector<DeviceClass> device_classes{};
  std::vector<Slice> slices{};
  std::vector<HeldDevice> held{};
  // Kinds that were read completely: an object of them that is missing does not exist.
  std::set<std::string, std::less<>> listed{};
  std::vector<std::string> unreadable{};  // what could not be read, and why
  std::vector<std::string> names{};       // of other pods of the namespace: "namespace/name"

  bool Has(std::string_view kind) const { return listed.contains(kind); }
};

// Pure function; malformed data counts as absent. `space` and `name` are the pod's.
Facts FactsOf(const Dump& dump, std::string_view space, std::string_view name);

}  // namespace kgpu::explain
