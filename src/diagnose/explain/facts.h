// What `kgpu explain` judges: a pod, the nodes, who has their GPUs, and the rules of the namespace,
// as plain values. Whatever a server or a file left out is empty.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/explain/amount.h"

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
// Null: there is none of that type.
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

// One line of a node selector.
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
  bool is_sidecar = false;  // an init container that stays
};

struct ContainerStatus {
  std::string name{};
  bool is_running = false;
  std::string reason{};  // why it waits or ended: "ImagePullBackOff", "OOMKilled"
  std::string message{};
  std::optional<int64_t> exit_code{};  // of one that ended
  std::string last_reason{};           // of the run before
  std::string last_message{};
  std::optional<int64_t> last_exit_code{};
  int64_t restarts = 0;
};

// A claim as a pod names it.
struct ClaimUse {
  std::string name{};
  std::string claim{};      // of the object; empty: not made yet
  std::string made_from{};  // the template, where it has one
};

// The sum of a pod's containers as the scheduler counts them.
struct Pod {
  std::string space{};
  std::string name{};
  std::string uid{};    // empty: a manifest, which no server has taken
  std::string owner{};  // "ReplicaSet/train-6d4f"
  std::string node{};   // empty: not scheduled
  std::string phase{};
  std::string reason{};
  std::string message{};
  std::string started{};  // or created, where it did not start
  bool is_deleted = false;
  int64_t priority = 0;
  std::string priority_class{};
  std::string preemption_policy{};
  std::string runtime_class{};
  std::string scheduler{};
  std::string nominated_node{};
  std::vector<std::string> gates{};
  Texts selector{};
  // Of requiredDuringSchedulingIgnoredDuringExecution, one of which must match; nothing: no such
  // rule.
  std::optional<std::vector<SelectorTerm>> affinity{};
  std::vector<Toleration> tolerations{};
  std::vector<ContainerSpec> containers{};  // init containers first
  std::vector<ContainerStatus> statuses{};
  std::vector<Condition> conditions{};
  std::vector<ClaimUse> claims{};
  Amounts overhead{};
  Amounts of_all{};  // spec.resources: of all containers together, where it is given
  // Rules of the scheduler that are not judged here, by the names that people know.
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

// Somebody else's part of a node.
struct Holder {
  std::string title{};  // "team-a/train"
  std::string node{};
  std::string since{};
  int64_t priority = 0;
  bool is_deleted = false;
  bool is_nominated = false;  // not there yet: the scheduler keeps the room for it
  Amounts requests{};
};

struct Event {
  std::string kind{};  // of what it is about
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
  std::vector<Requirement> scopes{};  // that a pod must be in to count; the key is the scope
  Amounts hard{};
  Amounts used{};
};

// One entry of a LimitRange.
struct Limit {
  std::string space{};
  std::string range{};  // the object
  std::string type{};   // Container, Pod
  Amounts least{};
  Amounts most{};
};

struct ClaimRequest {
  std::string name{};
  std::vector<std::string> classes{};  // several: the first that is there
  int64_t count = 1;
  bool wants_all = false;
  bool is_admin = false;       // looks on: a device that others have will do
  bool has_selectors = false;  // of its own
  std::vector<Toleration> tolerations{};
};

struct ClaimResult {
  std::string driver{};
  std::string pool{};
  std::string device{};
  bool is_shared = false;  // others can have the device, too: by an administrator, or a share of it
};

struct Claim {
  std::string space{};
  std::string name{};
  std::vector<ClaimRequest> requests{};
  bool is_allocated = false;
  std::vector<ClaimResult> results{};
  std::optional<std::vector<SelectorTerm>> nodes{};  // where the allocation can be used
};

struct DeviceClass {
  std::string name{};
  std::string driver{};       // that its selectors name; empty: unknown
  bool is_of_driver = false;  // and they say no more
  std::string resource{};     // extendedResourceName
};

struct Slice {
  std::string driver{};
  std::string pool{};
  std::string node{};      // empty: not of one node
  int64_t generation = 0;  // of the pool: older slices do not count
  std::vector<std::string> devices{};
  std::set<std::string> shared{};                      // of them: many may have one
  std::map<std::string, std::vector<Taint>> taints{};  // of them; NoSchedule and NoExecute
};

// A device that the kubelet of the node says the pod has.
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
  std::vector<Holder> holders{};  // pods that are on a node and have not ended, but for the pod
  std::vector<Event> events{};    // oldest first
  std::vector<Quota> quotas{};
  std::vector<Limit> limits{};
  std::set<std::string> runtime_classes{};
  std::vector<Claim> claims{};
  std::set<std::string> claim_templates{};  // of the namespace
  std::vector<DeviceClass> device_classes{};
  std::vector<Slice> slices{};
  std::vector<HeldDevice> held{};
  // Kinds of which all that matters was read: what is not among them is not there.
  std::set<std::string, std::less<>> listed{};
  std::vector<std::string> unreadable{};  // what could not be read, and why
  std::vector<std::string> names{};       // of other pods of the namespace: "namespace/name"

  bool Has(std::string_view kind) const { return listed.contains(kind); }
};

// Pure; what is malformed counts as not there. `space` and `name` are the pod's.
Facts FactsOf(const Dump& dump, std::string_view space, std::string_view name);

}  // namespace kgpu::explain
