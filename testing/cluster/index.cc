#include "testing/cluster/index.h"

#include <boost/json.hpp>

#include "testing/apiserver/json_fields.h"

namespace kgpu::simcluster {
namespace {

namespace json = boost::json;
using apiserver::Change;
using apiserver::ChangeType;
using apiserver::FieldAt;
using apiserver::FlagAt;
using apiserver::ItemsAt;
using apiserver::ObjectAt;
using apiserver::TextAt;

std::string ControllerOf(const json::object& object) {
  for (const json::value& item : ItemsAt(object, {"metadata", "ownerReferences"})) {
    if (item.is_object() && FlagAt(item.get_object(), {"controller"})) {
      return std::string(TextAt(item.get_object(), {"uid"}));
    }
  }
  return "";
}

bool HasCondition(const json::object& object, std::string_view type) {
  for (const json::value& item : ItemsAt(object, {"status", "conditions"})) {
    if (item.is_object() && TextAt(item.get_object(), {"type"}) == type) {
      return TextAt(item.get_object(), {"status"}) == "True";
    }
  }
  return false;
}

PodInfo ReadPod(const StoredPtr& stored) {
  const json::object& pod = stored->object();
  const std::string_view revision = TextAt(pod, {"metadata", "labels", "controller-revision-hash"});
  return {.object = stored,
          .uid = std::string(TextAt(pod, {"metadata", "uid"})),
          .owner = ControllerOf(pod),
          .node = std::string(TextAt(pod, {"spec", "nodeName"})),
          .phase = std::string(TextAt(pod, {"status", "phase"})),
          .hash = std::string(revision.empty()
                                  ? TextAt(pod, {"metadata", "labels", "pod-template-hash"})
                                  : revision),
          .requests = RequestsOf(pod),
          .is_ready = HasCondition(pod, "Ready"),
          .is_deleted = FieldAt(pod, {"metadata", "deletionTimestamp"}) != nullptr};
}

}  // namespace

bool HasSameRules(const json::object& a, const json::object& b) {
  const auto same = [&](apiserver::Path path) {
    const json::value* left = FieldAt(a, path);
    const json::value* right = FieldAt(b, path);
    return left == nullptr || right == nullptr ? left == right : *left == *right;
  };
  return same({"metadata", "labels"}) && same({"spec"});
}

void Index::Apply(const Change& change) {
  if (change.storage == "pods") {
    ApplyPod(change);
  } else if (change.storage == "nodes") {
    ApplyNode(change);
  }
}

void Index::Count(const PodInfo& pod, const ObjectKey& key, int64_t sign) {
  const auto node = nodes_.find(pod.node);
  if (node == nodes_.end()) {
    return;
  }
  if (!pod.is_over()) {
    AddTo(node->second.used, pod.requests, sign);
  }
  if (sign > 0) {
    node->second.pods.insert(key);
  } else {
    node->second.pods.erase(key);
  }
}

void Index::Drop(const ObjectKey& key) {
  const auto found = pods_.find(key);
  if (found == pods_.end()) {
    return;
  }
  Count(found->second, key, -1);
  by_owner_[found->second.owner].erase(key);
  by_node_[found->second.node].erase(key);
  unscheduled_.erase(key);
  pods_.erase(found);
}

void Index::ApplyPod(const Change& change) {
  Drop(change.key);
  if (change.type == ChangeType::kDeleted) {
    return;
  }
  PodInfo pod = ReadPod(change.object);
  by_owner_[pod.owner].insert(change.key);
  by_node_[pod.node].insert(change.key);
  if (pod.node.empty() && !pod.is_over() && !pod.is_deleted) {
    unscheduled_.insert(change.key);
  }
  Count(pod, change.key, 1);
  pods_.emplace(change.key, std::move(pod));
}

void Index::ApplyNode(const Change& change) {
  const std::string& name = change.key.name;
  const auto found = nodes_.find(name);
  if (change.type == ChangeType::kDeleted) {
    if (found != nodes_.end()) {
      nodes_.erase(found);
    }
    return;
  }
  const json::object& node = change.object->object();
  const json::object* allocatable = ObjectAt(node, {"status", "allocatable"});
  if (found != nodes_.end()) {
    if (!HasSameRules(node, found->second.object->object())) {
      found->second.rules_revision = change.revision;
    }
    found->second.object = change.object;
    found->second.allocatable = ReadAmounts(allocatable);
    return;
  }
  nodes_.emplace(name, NodeInfo{.object = change.object,
                                .allocatable = ReadAmounts(allocatable),
                                .rules_revision = change.revision});
  for (const ObjectKey& key : by_node_[name]) {
    Count(pods_.at(key), key, 1);
  }
}

const PodInfo* Index::Pod(const ObjectKey& key) const {
  const auto found = pods_.find(key);
  return found == pods_.end() ? nullptr : &found->second;
}

const NodeInfo* Index::Node(std::string_view name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

const std::set<ObjectKey>& Index::PodsOf(std::string_view owner_uid) const {
  static const std::set<ObjectKey> kNone;
  const auto found = by_owner_.find(owner_uid);
  return found == by_owner_.end() ? kNone : found->second;
}

}  // namespace kgpu::simcluster
