#include "testing/cluster/deployments.h"

#include <boost/json.hpp>

#include <algorithm>

#include "src/platform/doc/json_texts.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/time_text.h"
#include "testing/cluster/daemon_sets.h"

namespace kgpu::simcluster {
namespace {

namespace json = boost::json;
using apiserver::FieldAt;
using apiserver::ItemsAt;
using apiserver::MakeObject;
using apiserver::NumberAt;
using apiserver::ObjectAt;
using apiserver::TextAt;

// How far a rolling update may go above and below the number of replicas.
struct Room {
  int64_t surge = 0;
  int64_t unavailable = 0;
};

Room RoomOf(const json::object& deployment, int64_t replicas) {
  if (TextAt(deployment, {"spec", "strategy", "type"}) == "Recreate") {
    return {.surge = 0, .unavailable = replicas};
  }
  const auto value = [&](const char* name, bool rounds_up) {
    const json::value quarter = "25%";
    const json::value* set = FieldAt(deployment, {"spec", "strategy", "rollingUpdate", name});
    return ScaledValue(set == nullptr ? &quarter : set, replicas, 0, rounds_up);
  };
  const Room room{.surge = value("maxSurge", true), .unavailable = value("maxUnavailable", false)};
  return room.surge == 0 && room.unavailable == 0 ? Room{.surge = 0, .unavailable = 1} : room;
}

json::object DeploymentPod(const json::object& deployment, const std::string& hash) {
  json::object pod = PodFromTemplate(deployment, "apps/v1", "Deployment");
  json::object& metadata = MakeObject(pod, "metadata");
  MakeObject(metadata, "labels")["pod-template-hash"] = hash;
  metadata["generateName"] = fmt::format("{}-{}-", TextAt(deployment, {"metadata", "name"}), hash);
  return pod;
}

}  // namespace

Deployments::Deployments(EventLoop& loop, apiserver::Api& api, const Index& index,
                         std::vector<std::string>& problems)
    : loop_(loop), api_(api), index_(index), writer_(api, "kube-controller-manager", problems) {
}

Deployments::Pods Deployments::PodsOf(std::string_view uid, const std::string& hash) const {
  Pods pods;
  for (const ObjectKey& key : index_.PodsOf(uid)) {
    const PodInfo& pod = *index_.Pod(key);
    if (pod.is_deleted) {
      continue;
    }
    if (pod.is_over()) {
      pods.over.push_back(&pod);
      continue;
    }
    (pod.hash == hash ? pods.current : pods.old).push_back(&pod);
    pods.ready += pod.is_ready ? 1 : 0;
    pods.current_ready += pod.is_ready && pod.hash == hash ? 1 : 0;
  }
  // Those that are not ready go first, then the newest.
  const auto goes_later = [](const PodInfo* a, const PodInfo* b) {
    return a->is_ready != b->is_ready ? a->is_ready : a->object->revision() < b->object->revision();
  };
  std::ranges::sort(pods.current, goes_later);
  std::ranges::sort(pods.old, goes_later);
  return pods;
}

void Deployments::Sync(const ObjectKey& key) {
  const auto found = api_.Find(PathOf("apps/v1", "deployments", key));
  if (found == nullptr || FieldAt(found->object(), {"metadata", "deletionTimestamp"}) != nullptr) {
    return;
  }
  const json::object& deployment = found->object();
  const json::object* form = ObjectAt(deployment, {"spec", "template"});
  const std::string hash = HashOf(form == nullptr ? json::object() : *form);
  const int64_t replicas = NumberAt(deployment, {"spec", "replicas"}, 1);
  Pods pods = PodsOf(TextAt(deployment, {"metadata", "uid"}), hash);
  const Pods before = pods;
  Scale(deployment, hash, replicas, pods);
  WriteStatus(key, deployment, replicas, before);
}

void Deployments::Scale(const json::object& deployment, const std::string& hash, int64_t replicas,
                        Pods& pods) {
  const Room room = RoomOf(deployment, replicas);
  for (const PodInfo* over : pods.over) {
    writer_.DeletePod(over->object->object());
  }
  while (static_cast<int64_t>(pods.current.size()) > replicas) {
    writer_.DeletePod(pods.current.back()->object->object());
    pods.ready -= pods.current.back()->is_ready ? 1 : 0;
    pods.current.pop_back();
  }
  while (!pods.old.empty() &&
         (!pods.old.back()->is_ready || pods.ready > replicas - room.unavailable)) {
    writer_.DeletePod(pods.old.back()->object->object());
    pods.ready -= pods.old.back()->is_ready ? 1 : 0;
    pods.old.pop_back();
  }
  const std::string collection =
      fmt::format("/api/v1/namespaces/{}/pods", TextAt(deployment, {"metadata", "namespace"}));
  const json::object pod = DeploymentPod(deployment, hash);
  for (auto more = std::min(replicas - static_cast<int64_t>(pods.current.size()),
                            replicas + room.surge - pods.Total());
       more > 0; --more) {
    writer_.Create(collection, pod);
  }
}

void Deployments::WriteStatus(const ObjectKey& key, const json::object& deployment,
                              int64_t replicas, const Pods& pods) {
  const Room room = RoomOf(deployment, replicas);
  const std::string now = apiserver::TimeText(loop_.clock().WallNow());
  const bool is_available = pods.ready >= replicas - room.unavailable;
  const bool is_complete =
      pods.current_ready == replicas && pods.old.empty() && pods.ready == replicas;
  json::array conditions = WithCondition(
      ItemsAt(deployment, {"status", "conditions"}),
      {{"type", "Available"},
       {"status", is_available ? "True" : "False"},
       {"reason", is_available ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable"},
       {"message", is_available ? "Deployment has minimum availability."
                                : "Deployment does not have minimum availability."}},
      now);
  conditions = WithCondition(
      conditions,
      {{"type", "Progressing"},
       {"status", "True"},
       {"reason", is_complete ? "NewReplicaSetAvailable" : "ReplicaSetUpdated"},
       {"message", is_complete ? "All pods are of the current template." : "Pods are replaced."}},
      now);
  writer_.PatchStatus(PathOf("apps/v1", "deployments", key), deployment,
                      {{"replicas", pods.Total()},
                       {"updatedReplicas", static_cast<int64_t>(pods.current.size())},
                       {"readyReplicas", pods.ready},
                       {"availableReplicas", pods.ready},
                       {"unavailableReplicas", std::max<int64_t>(0, replicas - pods.ready)},
                       {"observedGeneration", NumberAt(deployment, {"metadata", "generation"}, 0)},
                       {"conditions", std::move(conditions)}});
}

}  // namespace kgpu::simcluster
