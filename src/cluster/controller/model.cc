#include "src/cluster/controller/model.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <utility>

#include "src/kube/api/json.h"
#include "src/kube/api/object_cache.h"
#include "src/platform/base/strings.h"

namespace kgpu::controller {
namespace {

namespace json = boost::json;
using fleet::NodeFacts;
using fleet::PodFacts;

// How long the watch may lag behind our writes. After that it counts: a server that was restored
// from a backup starts from older versions.
constexpr std::chrono::seconds kWatchLag{60};

std::set<std::string> TextsAt(const json::value& value,
                              std::initializer_list<std::string_view> path) {
  std::set<std::string> texts;
  const json::value* list = kube::FindField(value, path);
  if (list != nullptr && list->is_array()) {
    for (const json::value& item : list->get_array()) {
      if (item.is_string()) {
        texts.emplace(item.get_string());
      }
    }
  }
  return texts;
}

// The arguments of the container that installs the driver.
std::vector<std::string> ArgumentsOf(const json::value& daemon_set) {
  std::vector<std::string> arguments;
  for (const char* list : {"initContainers", "containers"}) {
    const json::value* found = kube::FindField(daemon_set, {"spec", "template", "spec", list});
    if (found == nullptr || !found->is_array()) {
      continue;
    }
    for (const json::value& container : found->get_array()) {
      const json::value* texts = kube::FindField(container, {"args"});
      if (texts == nullptr || !texts->is_array()) {
        continue;
      }
      for (const json::value& text : texts->get_array()) {
        if (text.is_string()) {
          arguments.emplace_back(text.get_string());
        }
      }
    }
  }
  return arguments;
}

}  // namespace

bool IsOlder(std::string_view a, std::string_view b) {
  const auto left = ParseUint(a);
  const auto right = ParseUint(b);
  return left && right && *left < *right;
}

bool Model::PutNode(const json::value& node, SteadyTime now, bool is_own_write) {
  NodeFacts facts = fleet::ReadNode(node);
  const auto found = nodes_.find(facts.name);
  // The answer comes after the watch has said that the node is gone, or is another one.
  if (is_own_write && (found == nodes_.end() || found->second.facts.uid != facts.uid)) {
    return false;
  }
  NodeEntry& entry = nodes_[facts.name];
  const bool is_recent = is_own_write || (entry.is_own_write && now - entry.written < kWatchLag);
  if (is_recent && entry.facts.uid == facts.uid && IsOlder(facts.version, entry.facts.version)) {
    return false;
  }
  if (is_own_write) {
    entry.written = now;
  }
  entry.is_own_write = is_own_write;
  NodeFacts before = std::move(entry.facts);
  entry.facts = std::move(facts);
  if (before.labels != entry.facts.labels || before.name.empty()) {
    entry.member = MembershipOf(entry.facts);
  }
  before.version = entry.facts.version;
  return before != entry.facts;
}

bool Model::RemoveNode(std::string_view name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) {
    return false;
  }
  nodes_.erase(found);
  if (const auto problem = pod_problems_.find(name); problem != pod_problems_.end()) {
    pod_problems_.erase(problem);
  }
  return true;
}

bool Model::PutPod(const ObjectPtr& pod) {
  const PodFacts facts = fleet::ReadPod(*pod);
  const std::string key = kube::KeyOf(*pod);
  if (const auto found = pod_nodes_.find(key);
      found != pod_nodes_.end() && found->second != facts.node) {
    RemovePod(*pod);
  }
  if (facts.node.empty()) {
    return false;  // not scheduled: it holds nothing
  }
  pod_nodes_[key] = facts.node;
  pods_[facts.node][key] = pod;
  if (facts.IsOwn()) {
    own_pods_[key] = facts.node;
    pod_problems_.erase(facts.node);
  }
  return true;
}

bool Model::RemovePod(const json::value& pod) {
  const std::string key = kube::KeyOf(pod);
  const auto found = pod_nodes_.find(key);
  if (found == pod_nodes_.end()) {
    return false;
  }
  const auto on_node = pods_.find(found->second);
  on_node->second.erase(key);
  if (on_node->second.empty()) {
    pods_.erase(on_node);
  }
  pod_nodes_.erase(found);
  own_pods_.erase(key);
  return true;
}

bool Model::PutPolicy(const json::value& object, SteadyTime now, bool is_own_write) {
  const std::string name(kube::NameOf(object));
  const auto found = policies_.find(name);
  if (is_own_write && (found == policies_.end() ||
                       found->second.uid != kube::TextField(object, {"metadata", "uid"}))) {
    return false;
  }
  PolicyEntry& entry = policies_[name];
  const auto written = policy_writes_.find(name);
  const bool is_recent =
      is_own_write || (written != policy_writes_.end() && now - written->second < kWatchLag);
  if (is_recent && entry.uid == kube::TextField(object, {"metadata", "uid"}) &&
      IsOlder(kube::VersionOf(object), entry.version)) {
    return false;
  }
  if (is_own_write) {
    policy_writes_[name] = now;
  }
  entry.name = name;
  entry.uid = kube::TextField(object, {"metadata", "uid"});
  entry.version = kube::VersionOf(object);
  entry.generation = kube::IntField(object, {"metadata", "generation"}).value_or(0);
  const json::value* status = kube::FindField(object, {"status"});
  entry.status = status == nullptr ? json::value() : *status;
  entry.starting = TextsAt(object, {"status", "starting"});
  StatusOr<policy::GpuPolicy> policy = policy::ReadGpuPolicy(object);
  entry.problem = policy.ok() ? "" : std::string(Message(policy.status()));
  if (policy.ok()) {
    const bool is_same_spec = entry.policy && entry.policy->generation == policy->generation &&
                              entry.policy->uid == policy->uid && policy->generation > 0;
    entry.policy = *std::move(policy);
    if (!is_same_spec) {
      Regroup();
    }
  }
  return true;
}

bool Model::RemovePolicy(std::string_view name) {
  const auto found = policies_.find(name);
  if (found == policies_.end()) {
    return false;
  }
  policies_.erase(found);
  Regroup();
  return true;
}

void Model::SetPodProblem(const std::string& node, std::string problem) {
  if (nodes_.contains(node)) {
    pod_problems_[node] = std::move(problem);
  }
}

std::string Model::PodProblem(std::string_view node) const {
  const auto found = pod_problems_.find(node);
  return found == pod_problems_.end() ? "" : found->second;
}

void Model::SetDriverSet(const json::value* daemon_set) {
  has_driver_set_ = daemon_set != nullptr;
  driver_args_ = has_driver_set_ ? ArgumentsOf(*daemon_set) : std::vector<std::string>();
}

void Model::SetConfigMap(const json::value* config_map) {
  config_map_ = config_map == nullptr ? json::value() : *config_map;
}

std::vector<PodFacts> Model::PodsOn(std::string_view node) const {
  std::vector<PodFacts> pods;
  if (const auto found = pods_.find(node); found != pods_.end()) {
    for (const auto& [key, pod] : found->second) {
      pods.push_back(fleet::ReadPod(*pod));
    }
  }
  return pods;
}

std::optional<PodFacts> Model::FindPod(const std::string& key) const {
  const auto found = pod_nodes_.find(key);
  return found == pod_nodes_.end()
             ? std::nullopt
             : std::optional(fleet::ReadPod(*pods_.find(found->second)->second.at(key)));
}

const policy::GpuPolicy* Model::PolicyOf(const NodeEntry& node) const {
  if (!node.member) {
    return nullptr;
  }
  const auto found = policies_.find(node.member->policy);
  return found == policies_.end() || !found->second.policy ? nullptr : &*found->second.policy;
}

const policy::Group* Model::GroupOf(const NodeEntry& node) const {
  const policy::GpuPolicy* policy = PolicyOf(node);
  return policy == nullptr ? nullptr : &policy->groups.at(node.member->group);
}

bool Model::IsUnknown(std::string_view policy) const {
  const auto found = policies_.find(policy);
  return found != policies_.end() && !found->second.policy;
}

bool Model::IsShadowed(std::string_view policy) const {
  return std::any_of(policies_.begin(), policies_.lower_bound(policy),
                     [](const auto& one) { return !one.second.policy; });
}

std::string Model::DriverSetProblem(std::string_view target) const {
  if (!has_driver_set_) {
    return fmt::format("DaemonSet {} does not exist", fleet::kDriverName);
  }
  for (size_t i = 0; i < driver_args_.size(); ++i) {
    for (const std::string_view flag : {"--version", "--branch"}) {
      const std::string& argument = driver_args_[i];
      const bool is_next = argument == flag && i + 1 < driver_args_.size();
      if ((is_next && driver_args_[i + 1] == target) ||
          argument == fmt::format("{}={}", flag, target)) {
        return "";
      }
    }
  }
  return fmt::format("DaemonSet {} does not install it: add --{}={} to its arguments",
                     fleet::kDriverName,
                     target.find('.') == std::string_view::npos ? "branch" : "version", target);
}

void Model::Regroup() {
  fleet::KeySet keys;
  for (const auto& [name, entry] : policies_) {
    if (!entry.policy) {
      continue;
    }
    for (const policy::Group& group : entry.policy->groups) {
      group.nodes.AddKeys(keys);
      for (const auto& [key, value] : group.labels) {
        keys.insert(key);
      }
    }
  }
  // Only grows, so that a policy that changes back and forth costs one list of the nodes.
  label_keys_.merge(keys);
  for (auto& [name, entry] : nodes_) {
    entry.member = MembershipOf(entry.facts);
  }
}

std::optional<Membership> Model::MembershipOf(const NodeFacts& node) const {
  std::optional<Membership> member;
  for (const auto& [name, entry] : policies_) {
    if (!entry.policy) {
      continue;
    }
    for (size_t i = 0; i < entry.policy->groups.size(); ++i) {
      if (!entry.policy->groups[i].nodes.Matches(node.labels)) {
        continue;
      }
      if (member) {
        member->also = fmt::format("{}/{}", name, entry.policy->groups[i].name);
        return member;
      }
      member = Membership{.policy = name, .group = i};
    }
  }
  return member;
}

}  // namespace kgpu::controller
