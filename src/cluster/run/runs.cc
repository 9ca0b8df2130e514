#include "src/cluster/run/runs.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "src/cluster/run/manifests.h"
#include "src/kube/api/conditions.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/objects/readiness.h"
#include "src/platform/base/base64.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::run {
namespace {

namespace json = boost::json;
using kube::FindField;
using kube::TextField;

constexpr std::string_view kChunk = "250";

struct RunKindOfObject {
  kube::Resource resource;
  const char* api_version;
  const char* kind;
};
// In the order of creation. Pods are last: those of Jobs and Deployments are not objects of their
// own.
constexpr std::array<RunKindOfObject, 6> kObjectKinds = {
    {{{"", "v1", "secrets"}, "v1", "Secret"},
     {{"", "v1", "persistentvolumeclaims"}, "v1", "PersistentVolumeClaim"},
     {{"", "v1", "services"}, "v1", "Service"},
     {{"apps", "v1", "deployments"}, "apps/v1", "Deployment"},
     {{"batch", "v1", "jobs"}, "batch/v1", "Job"},
     {{"", "v1", "pods"}, "v1", "Pod"}}};

StatusOr<std::vector<json::value>> ListAll(kube::BlockingClient& client,
                                           const kube::Resource& resource, const std::string& space,
                                           const std::string& name) {
  std::vector<json::value> all;
  std::string next;
  do {
    kube::ApiRequest request{
        .path = resource.Collection(space),
        .query = {{"labelSelector", SelectorOf(name)}, {"limit", std::string(kChunk)}}};
    if (!next.empty()) {
      request.query.emplace_back("continue", next);
    }
    ASSIGN_OR_RETURN(json::value answer, client.Send(std::move(request)));
    if (const json::value* items = FindField(answer, {"items"}); items != nullptr) {
      for (const json::value& item : items->as_array()) {
        all.push_back(item);
      }
    }
    next = std::string(TextField(answer, {"metadata", "continue"}));
  } while (!next.empty());
  return all;
}

bool IsOwned(const json::value& object) {
  const json::value* owners = FindField(object, {"metadata", "ownerReferences"});
  return owners != nullptr && owners->is_array() && !owners->get_array().empty();
}

std::pair<std::string, std::string> KeyOf(const json::value& object) {
  return {std::string(kube::NamespaceOf(object)),
          std::string(TextField(object, {"metadata", "labels", kInstanceLabel}))};
}

// The spec of the pods that an object leads to; null if it leads to none.
const json::value* PodSpecOf(const json::value& object) {
  const json::value* spec = FindField(object, {"spec", "template", "spec"});
  return spec != nullptr ? spec : FindField(object, {"spec"});
}

void ReadSpec(const json::value& object, RunInfo& run) {
  const json::value* spec = PodSpecOf(object);
  const json::value* containers = spec == nullptr ? nullptr : FindField(*spec, {"containers"});
  if (containers == nullptr || !containers->is_array() || containers->get_array().empty()) {
    return;
  }
  const json::value& container = containers->get_array()[0];
  run.image = TextField(container, {"image"});
  const json::value* limits = FindField(container, {"resources", "limits"});
  for (const auto& [key, value] :
       limits != nullptr && limits->is_object() ? limits->get_object() : json::object()) {
    if (value.is_string()) {
      run.resource.assign(key.data(), key.size());
      run.gpus = static_cast<int64_t>(ParseUint(std::string_view(value.get_string())).value_or(0));
    }
  }
}

RunState StateOfPod(const json::value& pod) {
  const std::string_view phase = TextField(pod, {"status", "phase"});
  if (phase == "Succeeded") {
    return RunState::kSucceeded;
  }
  if (phase == "Failed") {
    return RunState::kFailed;
  }
  if (TextField(pod, {"spec", "nodeName"}).empty()) {
    return RunState::kPending;
  }
  const auto ready = kube::FindCondition(pod, "Ready");
  const bool is_jupyter =
      TextField(pod, {"metadata", "labels", kComponentLabel}) == ToString(RunKind::kJupyter);
  const bool is_running = phase == "Running" && (!is_jupyter || (ready && ready->status == "True"));
  return is_running ? RunState::kRunning : RunState::kStarting;
}

bool HasEnded(const json::value& job, const char* type) {
  const auto condition = kube::FindCondition(job, type);
  return condition && condition->status == "True";
}

void AddPod(const json::value& pod, RunInfo& run) {
  run.pod = kube::NameOf(pod);
  run.node = TextField(pod, {"spec", "nodeName"});
  run.state = StateOfPod(pod);
  run.problem = kube::ProblemOfPod(pod);
  if (FindField(pod, {"metadata", "deletionTimestamp"}) != nullptr) {
    run.problem = "its pod is being deleted";
  }
}

using Runs = std::map<std::pair<std::string, std::string>, RunInfo>;

// What an object that nobody owns says about its run.
void ReadObject(const json::value& object, bool is_service, Runs& runs) {
  if (IsOwned(object)) {
    return;
  }
  RunInfo& run = runs[KeyOf(object)];
  run.space = kube::NamespaceOf(object);
  run.name = TextField(object, {"metadata", "labels", kInstanceLabel});
  run.kind = TextField(object, {"metadata", "labels", kComponentLabel});
  run.created = TextField(object, {"metadata", "creationTimestamp"});
  if (!is_service) {
    ReadSpec(object, run);
    return;
  }
  const json::value* ports = FindField(object, {"spec", "ports"});
  if (ports != nullptr && ports->is_array() && !ports->get_array().empty()) {
    run.node_port = kube::IntField(ports->get_array()[0], {"nodePort"}).value_or(0);
  }
}

// The newest pod of each run counts.
void AddPods(std::vector<json::value> pods, Runs& runs) {
  std::ranges::sort(pods, {}, [](const json::value& pod) {
    return std::pair(std::string(TextField(pod, {"metadata", "creationTimestamp"})),
                     std::string(kube::NameOf(pod)));
  });
  for (const json::value& pod : pods) {
    if (const auto run = runs.find(KeyOf(pod)); run != runs.end()) {
      AddPod(pod, run->second);
    }
  }
}

void AddEnds(const std::vector<json::value>& jobs, Runs& runs) {
  for (const json::value& job : jobs) {
    const auto run = runs.find(KeyOf(job));
    if (run == runs.end()) {
      continue;
    }
    if (HasEnded(job, "Complete")) {
      run->second.state = RunState::kSucceeded;
    } else if (HasEnded(job, "Failed")) {
      run->second.state = RunState::kFailed;
    }
  }
}

std::string AddressOf(const json::value& node) {
  std::map<std::string_view, std::string_view> by_type;
  if (const json::value* addresses = FindField(node, {"status", "addresses"});
      addresses != nullptr && addresses->is_array()) {
    for (const json::value& address : addresses->get_array()) {
      by_type.emplace(TextField(address, {"type"}), TextField(address, {"address"}));
    }
  }
  for (const char* type : {"ExternalIP", "InternalIP", "Hostname"}) {
    if (const auto found = by_type.find(type); found != by_type.end()) {
      const bool is_ipv6 = found->second.find(':') != std::string_view::npos;
      return is_ipv6 ? fmt::format("[{}]", found->second) : std::string(found->second);
    }
  }
  return "";
}

}  // namespace

std::string_view ToString(RunState state) {
  constexpr std::array<std::string_view, 5> kNames = {"pending", "starting", "running", "succeeded",
                                                      "failed"};
  return kNames.at(static_cast<size_t>(state));
}

StatusOr<std::vector<RunInfo>> ListRuns(kube::BlockingClient& client, const std::string& space,
                                        const std::string& name) {
  Runs runs;
  std::map<std::string_view, std::vector<json::value>> objects;  // by plural
  for (const RunKindOfObject& kind : kObjectKinds) {
    const std::string_view plural = kind.resource.plural;
    if (plural == "secrets" || plural == "persistentvolumeclaims") {
      continue;  // they say nothing about a run
    }
    ASSIGN_OR_RETURN(objects[plural], ListAll(client, kind.resource, space, name));
    for (const json::value& object : objects[plural]) {
      ReadObject(object, plural == "services", runs);
    }
  }
  AddPods(std::move(objects["pods"]), runs);
  AddEnds(objects["jobs"], runs);
  std::vector<RunInfo> all;
  for (auto& [key, run] : runs) {
    all.push_back(std::move(run));
  }
  return all;
}

StatusOr<RunInfo> FindRun(kube::BlockingClient& client, const std::string& space,
                          const std::string& name) {
  ASSIGN_OR_RETURN(std::vector<RunInfo> runs, ListRuns(client, space, name));
  if (runs.empty()) {
    return NotFound("{}/{}: no such run: `kgpu run list` shows those that there are", space, name);
  }
  return std::move(runs.front());
}

StatusOr<std::vector<kube::RemoveTarget>> ObjectsOfRun(kube::BlockingClient& client,
                                                       const std::string& space,
                                                       const std::string& name) {
  std::vector<kube::RemoveTarget> targets;
  for (const RunKindOfObject& kind : kObjectKinds) {
    ASSIGN_OR_RETURN(const std::vector<json::value> objects,
                     ListAll(client, kind.resource, space, name));
    for (const json::value& object : objects) {
      if (!IsOwned(object)) {
        targets.push_back({.ref = {.api_version = kind.api_version,
                                   .kind = kind.kind,
                                   .space = std::string(kube::NamespaceOf(object)),
                                   .name = std::string(kube::NameOf(object))},
                           .uid = std::string(TextField(object, {"metadata", "uid"}))});
      }
    }
  }
  return targets;
}

StatusOr<std::string> UrlOf(kube::BlockingClient& client, const RunInfo& run,
                            const std::string& token) {
  if (run.node_port == 0 || run.node.empty()) {
    return std::string();
  }
  const StatusOr<json::value> node = client.Send({.path = kube::kNodes.Object("", run.node)});
  // Who may not read nodes gets the node's name, which most networks know.
  const bool is_forbidden = node.status().code() == StatusCode::kPermissionDenied;
  RETURN_IF_ERROR(is_forbidden ? OkStatus() : node.status());
  const std::string address = is_forbidden ? run.node : AddressOf(*node);
  return address.empty() ? std::string()
                         : fmt::format("http://{}:{}/{}{}", address, run.node_port,
                                       token.empty() ? "" : "?token=", token);
}

StatusOr<std::string> TokenOf(kube::BlockingClient& client, const RunInfo& run) {
  constexpr kube::Resource kSecrets{"", "v1", "secrets"};
  ASSIGN_OR_RETURN(const json::value secret,
                   client.Send({.path = kSecrets.Object(run.space, run.name)}));
  return DecodeBase64(TextField(secret, {"data", "token"}));
}

}  // namespace kgpu::run
