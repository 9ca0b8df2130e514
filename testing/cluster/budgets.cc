#include "testing/cluster/budgets.h"

#include <boost/json.hpp>

#include <algorithm>

#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/selectors.h"
#include "testing/cluster/daemon_sets.h"

namespace kgpu::simcluster {
namespace {

namespace json = boost::json;
using apiserver::FieldAt;
using apiserver::NumberAt;
using apiserver::ObjectAt;

}  // namespace

Budgets::Budgets(apiserver::Api& api, const Index& index, std::vector<std::string>& problems)
    : api_(api), index_(index), writer_(api, "kube-controller-manager", problems) {
}

void Budgets::Sync(const ObjectKey& key) {
  const std::string path = PathOf("policy/v1", "poddisruptionbudgets", key);
  const StoredPtr budget = api_.Find(path);
  const json::object* selector =
      budget == nullptr ? nullptr : ObjectAt(budget->object(), {"spec", "selector"});
  if (selector == nullptr) {
    return;
  }
  const auto labels = apiserver::LabelSelector::FromObject(*selector);
  int64_t expected = 0;
  int64_t healthy = 0;
  for (const auto& [pod_key, pod] : index_.pods()) {
    if (labels.ok() && pod_key.name_space == key.name_space && !pod.is_over() &&
        labels->Matches(ObjectAt(pod.object->object(), {"metadata", "labels"}))) {
      ++expected;
      healthy += pod.is_ready && !pod.is_deleted ? 1 : 0;
    }
  }
  const json::object& object = budget->object();
  const json::value* least = FieldAt(object, {"spec", "minAvailable"});
  const json::value* most = FieldAt(object, {"spec", "maxUnavailable"});
  const int64_t desired = least != nullptr ? ScaledValue(least, expected, expected, true)
                                           : expected - ScaledValue(most, expected, 0, true);
  writer_.PatchStatus(
      path, object,
      {{"currentHealthy", healthy},
       {"desiredHealthy", std::max<int64_t>(0, desired)},
       {"expectedPods", expected},
       {"disruptionsAllowed", std::max<int64_t>(0, healthy - std::max<int64_t>(0, desired))},
       {"observedGeneration", NumberAt(object, {"metadata", "generation"}, 0)}});
}

}  // namespace kgpu::simcluster
