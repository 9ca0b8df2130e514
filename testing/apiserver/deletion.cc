// The deleting half of the registry: preconditions, finalizers, pods that stop, dependents,
// eviction.
#include <algorithm>

#include <boost/json.hpp>

#include "src/platform/base/status_macros.h"
#include "testing/apiserver/failure.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/registry.h"
#include "testing/apiserver/selectors.h"
#include "testing/apiserver/time_text.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

constexpr const char* kBudgets = "poddisruptionbudgets.policy";

Status CheckPreconditions(const Resource& resource, const json::object& object,
                          const DeleteOptions& options) {
  const std::string_view name = TextAt(object, {"metadata", "name"});
  const auto check = [&](const char* what, const char* field, const std::string& wanted) {
    const std::string_view is = TextAt(object, {"metadata", field});
    return wanted.empty() || wanted == is
               ? OkStatus()
               : ObjectConflict(resource, name,
                                fmt::format("{} \"{}\": {} must be {} and is {}",
                                            resource.Qualified(), name, what, wanted, is));
  };
  RETURN_IF_ERROR(check("UID", "uid", options.uid));
  return check("ResourceVersion", "resourceVersion", options.resource_version);
}

bool HasOnlyOwner(const json::object& object, std::string_view uid) {
  const json::array* owners = ListAt(object, {"metadata", "ownerReferences"});
  return owners != nullptr && !owners->empty() &&
         std::all_of(owners->begin(), owners->end(), [&](const json::value& owner) {
           return owner.is_object() && TextAt(owner.get_object(), {"uid"}) == uid;
         });
}

bool IsProtected(const json::object& pod) {
  const std::string_view phase = TextAt(pod, {"status", "phase"});
  return phase != "Pending" && phase != "Succeeded" && phase != "Failed" &&
         FieldAt(pod, {"metadata", "deletionTimestamp"}) == nullptr;
}

}  // namespace

bool Registry::HasFinalizers(const json::object& object) {
  const json::array* finalizers = ListAt(object, {"metadata", "finalizers"});
  return finalizers != nullptr && !finalizers->empty();
}

StatusOr<Written> Registry::Delete(const Resource& resource, const ObjectKey& key,
                                   const DeleteOptions& options) {
  ASSIGN_OR_RETURN(const StoredPtr current, Get(resource, key));
  const json::object& object = current->object();
  RETURN_IF_ERROR(CheckPreconditions(resource, object, options));
  if (options.is_dry_run) {
    return Written{.object = current, .has_changed = false, .is_gone = true};
  }
  const int64_t grace = options.grace_seconds >= 0
                            ? options.grace_seconds
                            : NumberAt(object, {"spec", "terminationGracePeriodSeconds"}, 30);
  if (resource.kind == "Pod" && grace > 0 && !TextAt(object, {"spec", "nodeName"}).empty()) {
    return StopPod(resource, key, grace);
  }
  if (HasFinalizers(object)) {
    return MarkDeleted(resource, key, 0);
  }
  Vanish(resource, key, options.orphans);
  return Written{.object = current, .is_gone = true};
}

StatusOr<Written> Registry::MarkDeleted(const Resource& resource, const ObjectKey& key,
                                        int64_t grace) {
  const StoredPtr current = store_.Get(resource.StorageName(), key);
  if (FieldAt(current->object(), {"metadata", "deletionTimestamp"}) != nullptr) {
    return Written{.object = current, .has_changed = false};
  }
  json::object object = current->object();
  json::object& metadata = MakeObject(object, "metadata");
  metadata["deletionTimestamp"] = TimeText(loop_.clock().WallNow() + std::chrono::seconds(grace));
  metadata["deletionGracePeriodSeconds"] = grace;
  if (resource.has_generation) {
    metadata["generation"] = NumberAt(object, {"metadata", "generation"}, 0) + 1;
  }
  return Written{.object = store_.Put(resource.StorageName(), key, std::move(object))};
}

StatusOr<Written> Registry::StopPod(const Resource& resource, const ObjectKey& key, int64_t grace) {
  ASSIGN_OR_RETURN(Written written, MarkDeleted(resource, key, grace));
  const std::string uid(TextAt(written.object->object(), {"metadata", "uid"}));
  const std::weak_ptr<Registry*> weak = self_;
  loop_.After(options_.pod_stop_time, [weak, key, uid, &resource] {
    const auto self = weak.lock();
    if (self == nullptr) {
      return;
    }
    const StoredPtr current = (*self)->store_.Get(resource.StorageName(), key);
    if (current != nullptr && TextAt(current->object(), {"metadata", "uid"}) == uid &&
        !HasFinalizers(current->object())) {
      (*self)->Vanish(resource, key, false);
    }
  });
  return written;
}

void Registry::Vanish(const Resource& resource, const ObjectKey& key, bool orphans) {
  const StoredPtr gone = store_.Remove(resource.StorageName(), key);
  if (gone == nullptr) {
    return;
  }
  const json::object& object = gone->object();
  if (resource.kind == "CustomResourceDefinition") {
    const std::string group(TextAt(object, {"spec", "group"}));
    const std::string plural(TextAt(object, {"spec", "names", "plural"}));
    const std::string storage = fmt::format("{}.{}", plural, group);
    for (const auto& [its_key, its] : ObjectMap(store_.All(storage))) {
      store_.Remove(storage, its_key);
    }
    resources_.RemoveCustom(group, plural);
  } else if (resource.kind == "Namespace") {
    for (const Resource* other : resources_.All()) {
      for (const auto& [its_key, its] : ObjectMap(store_.All(other->StorageName()))) {
        if (other->is_namespaced && its_key.name_space == key.name) {
          store_.Remove(other->StorageName(), its_key);
        }
      }
    }
  }
  if (!orphans && resource.kind != "Event") {
    RemoveDependents(TextAt(object, {"metadata", "uid"}));
  }
}

void Registry::RemoveDependents(std::string_view uid) {
  if (!store_.IsOwner(uid)) {
    return;
  }
  std::vector<std::pair<const Resource*, ObjectKey>> dependents;
  for (const Resource* resource : resources_.All()) {
    for (const auto& [key, stored] : store_.All(resource->StorageName())) {
      if (HasOnlyOwner(stored->object(), uid)) {
        dependents.emplace_back(resource, key);
      }
    }
  }
  for (const auto& [resource, key] : dependents) {
    // Objects held by a finalizer stay; no caller can be told.
    Delete(*resource, key, {}).status().IgnoreError();
  }
}

StatusOr<Written> Registry::Evict(const ObjectKey& pod, const DeleteOptions& options) {
  const Resource* pods = resources_.Find("", "v1", "pods");
  ASSIGN_OR_RETURN(const StoredPtr current, Get(*pods, pod));
  RETURN_IF_ERROR(CheckPreconditions(*pods, current->object(), options));
  std::vector<StoredPtr> budgets;
  for (const auto& [key, budget] : store_.All(kBudgets)) {
    const json::object* selector = ObjectAt(budget->object(), {"spec", "selector"});
    if (key.name_space != pod.name_space || selector == nullptr) {
      continue;
    }
    ASSIGN_OR_RETURN(const LabelSelector labels, LabelSelector::FromObject(*selector));
    if (labels.Matches(ObjectAt(current->object(), {"metadata", "labels"}))) {
      budgets.push_back(budget);
    }
  }
  if (!IsProtected(current->object()) || budgets.empty()) {
    return Delete(*pods, pod, options);
  }
  if (budgets.size() > 1) {
    return Failure(500, "InternalError",
                   "several PodDisruptionBudgets cover the pod: it cannot be evicted");
  }
  json::object budget = budgets.front()->object();
  const std::string name(TextAt(budget, {"metadata", "name"}));
  const int64_t allowed = NumberAt(budget, {"status", "disruptionsAllowed"}, 0);
  if (allowed <= 0) {
    return Failure(
        429, "TooManyRequests", "the pod's disruption budget does not allow its eviction now",
        {{"causes", json::array{{{"reason", "DisruptionBudget"},
                                 {"message", fmt::format("The disruption budget {} allows no "
                                                         "disruption now",
                                                         name)}}}}});
  }
  if (!options.is_dry_run) {
    MakeObject(budget, "status")["disruptionsAllowed"] = allowed - 1;
    store_.Put(kBudgets, {pod.name_space, name}, std::move(budget));
  }
  return Delete(*pods, pod, options);
}

}  // namespace kgpu::apiserver
