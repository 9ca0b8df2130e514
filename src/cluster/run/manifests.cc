#include "src/cluster/run/manifests.h"

#include <boost/json.hpp>

#include <utility>

#include "src/kube/api/json.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::run {
namespace {

namespace json = boost::json;

constexpr int kUser = 1000;
constexpr int kJupyterPort = 8888;
constexpr std::string_view kWork = "/work";
constexpr std::string_view kContainer = "main";
constexpr std::string_view kClaim = "gpus";

// What keeps a shell's pod alive, and ends at once when the pod is deleted.
constexpr std::string_view kSleep = "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done";

json::object LabelsOf(const RunRequest& request) {
  return {{"app.kubernetes.io/name", "kgpu-run"},
          {kInstanceLabel, request.name},
          {kComponentLabel, doc::View(ToString(request.kind))},
          {"app.kubernetes.io/part-of", "kgpu"},
          {"app.kubernetes.io/managed-by", doc::View(kManager)}};
}

json::object Metadata(const RunRequest& request) {
  return {{"name", request.name}, {"namespace", request.space}, {"labels", LabelsOf(request)}};
}

json::object Object(const RunRequest& request, const char* api_version, const char* kind) {
  return {{"apiVersion", api_version}, {"kind", kind}, {"metadata", Metadata(request)}};
}

json::object PodSecurity(const RunRequest& request) {
  json::object security = {{"seccompProfile", {{"type", "RuntimeDefault"}}}};
  if (!request.has_image_user) {
    security["runAsNonRoot"] = true;
    security["runAsUser"] = kUser;
    security["runAsGroup"] = kUser;
    security["fsGroup"] = kUser;
  }
  return security;
}

json::array Environment(const RunRequest& request) {
  json::array list;
  const bool is_jupyter = request.kind == RunKind::kJupyter;
  const auto add = [&](const char* name, std::string_view value) {
    if (!request.environment.contains(name)) {
      list.push_back({{"name", name}, {"value", doc::View(value)}});
    }
  };
  // The user has no entry, and so no home, in most images.
  if (is_jupyter || !request.has_image_user) {
    add("HOME", is_jupyter ? kWork : "/tmp");
  }
  if (is_jupyter) {
    add("JUPYTER_RUNTIME_DIR", "/tmp/jupyter");
    list.push_back({{"name", "JUPYTER_TOKEN"},
                    {"valueFrom", {{"secretKeyRef", {{"name", request.name}, {"key", "token"}}}}}});
  }
  for (const auto& [name, value] : request.environment) {
    list.push_back({{"name", name}, {"value", value}});
  }
  return list;
}

// Volumes of the pod, and where its container has them.
void AddVolumes(const RunRequest& request, json::object& spec, json::object& container) {
  json::array volumes;
  json::array mounts;
  for (size_t i = 0; i < request.mounts.size(); ++i) {
    const std::string name = fmt::format("volume-{}", i);
    volumes.push_back(
        {{"name", name}, {"persistentVolumeClaim", {{"claimName", request.mounts[i].claim}}}});
    mounts.push_back({{"name", name}, {"mountPath", request.mounts[i].path}});
  }
  if (request.kind == RunKind::kJupyter && request.mounts.empty()) {
    json::object volume = {{"name", "work"}};
    if (request.has_own_claim) {
      volume["persistentVolumeClaim"] = {{"claimName", request.name}};
    } else {
      volume["emptyDir"] = json::object();
    }
    volumes.push_back(std::move(volume));
    mounts.push_back({{"name", "work"}, {"mountPath", doc::View(kWork)}});
  }
  // CUDA and PyTorch exchange data between processes there; the engine's own is 64 MiB.
  volumes.push_back({{"name", "shm"}, {"emptyDir", {{"medium", "Memory"}}}});
  mounts.push_back({{"name", "shm"}, {"mountPath", "/dev/shm"}});
  spec["volumes"] = std::move(volumes);
  container["volumeMounts"] = std::move(mounts);
}

void AddCommand(const RunRequest& request, json::object& container) {
  if (request.kind == RunKind::kShell) {
    container["command"] = {"/bin/sh", "-c", doc::View(kSleep)};
  } else if (request.kind == RunKind::kJupyter && request.command.empty()) {
    json::array command = {"jupyter",      "notebook",
                           "--ip=0.0.0.0", fmt::format("--port={}", kJupyterPort),
                           "--no-browser", fmt::format("--notebook-dir={}", kWork)};
    if (request.has_image_user) {
      command.emplace_back("--allow-root");
    }
    container["command"] = std::move(command);
  } else if (!request.command.empty()) {
    container["args"] = doc::Texts(request.command);
  }
}

void AddPorts(json::object& container) {
  container["ports"] =
      json::array{{{"name", "http"}, {"containerPort", kJupyterPort}, {"protocol", "TCP"}}};
  // Answers without a token.
  container["readinessProbe"] = {{"httpGet", {{"path", "/api"}, {"port", "http"}}},
                                 {"periodSeconds", 5},
                                 {"failureThreshold", 3}};
}

json::array Tolerations(const std::string& resource) {
  json::array tolerations;
  const auto add = [&](std::string_view key) {
    tolerations.push_back(
        {{"key", doc::View(key)}, {"operator", "Exists"}, {"effect", "NoSchedule"}});
  };
  add("nvidia.com/gpu");
  if (!resource.empty() && resource != "nvidia.com/gpu") {
    add(resource);
  }
  return tolerations;
}

json::object PodSpec(const RunRequest& request, const Placement& placement) {
  json::object container = {{"name", doc::View(kContainer)}, {"image", request.image}};
  AddCommand(request, container);
  container["env"] = Environment(request);
  if (request.claim.empty()) {
    container["resources"] = {{"limits", {{placement.resource, std::to_string(request.gpus)}}}};
  } else {
    container["resources"] = {{"claims", json::array{{{"name", doc::View(kClaim)}}}}};
  }
  container["securityContext"] = {{"allowPrivilegeEscalation", false},
                                  {"capabilities", {{"drop", json::array{"ALL"}}}}};
  if (request.kind == RunKind::kJupyter) {
    AddPorts(container);
  }
  json::object spec = {{"restartPolicy", request.kind == RunKind::kJupyter ? "Always" : "Never"},
                       {"automountServiceAccountToken", false},
                       {"enableServiceLinks", false},
                       {"securityContext", PodSecurity(request)},
                       {"tolerations", Tolerations(placement.resource)}};
  if (!placement.affinity.empty()) {
    spec["affinity"] = placement.affinity;
  }
  if (!request.claim.empty()) {
    spec["resourceClaims"] =
        json::array{{{"name", doc::View(kClaim)}, {"resourceClaimName", request.claim}}};
  }
  AddVolumes(request, spec, container);
  spec["containers"] = json::array{std::move(container)};
  return spec;
}

json::object Template(const RunRequest& request, const Placement& placement) {
  return {{"metadata", {{"labels", LabelsOf(request)}}}, {"spec", PodSpec(request, placement)}};
}

json::value JobObject(const RunRequest& request, const Placement& placement) {
  json::object job = Object(request, "batch/v1", "Job");
  job["spec"] = {{"backoffLimit", 0}, {"template", Template(request, placement)}};
  return job;
}

json::value PodObject(const RunRequest& request, const Placement& placement) {
  json::object pod = Object(request, "v1", "Pod");
  pod["spec"] = PodSpec(request, placement);
  return pod;
}

json::value SecretObject(const RunRequest& request) {
  json::object secret = Object(request, "v1", "Secret");
  secret["type"] = "Opaque";
  secret["stringData"] = {{"token", request.token}};
  return secret;
}

json::value ClaimObject(const RunRequest& request) {
  json::object claim = Object(request, "v1", "PersistentVolumeClaim");
  claim["spec"] = {{"accessModes", json::array{"ReadWriteOnce"}},
                   {"resources", {{"requests", {{"storage", request.storage}}}}}};
  return claim;
}

json::value ServiceObject(const RunRequest& request) {
  json::object port = {
      {"name", "http"}, {"port", kJupyterPort}, {"protocol", "TCP"}, {"targetPort", "http"}};
  if (request.node_port != 0) {
    port["nodePort"] = request.node_port;
  }
  json::object service = Object(request, "v1", "Service");
  service["spec"] = {
      {"type", "NodePort"},
      {"selector", {{"app.kubernetes.io/name", "kgpu-run"}, {kInstanceLabel, request.name}}},
      {"ports", json::array{std::move(port)}}};
  return service;
}

json::value DeploymentObject(const RunRequest& request, const Placement& placement) {
  json::object deployment = Object(request, "apps/v1", "Deployment");
  // A new pod gets the volume and the GPUs when the old one has left them.
  deployment["spec"] = {
      {"replicas", 1},
      {"strategy", {{"type", "Recreate"}}},
      {"selector",
       {{"matchLabels", {{"app.kubernetes.io/name", "kgpu-run"}, {kInstanceLabel, request.name}}}}},
      {"template", Template(request, placement)}};
  return deployment;
}

}  // namespace

std::vector<json::value> ObjectsOf(const RunRequest& request, const Placement& placement) {
  switch (request.kind) {
    case RunKind::kJob:
      return {JobObject(request, placement)};
    case RunKind::kShell:
      return {PodObject(request, placement)};
    case RunKind::kJupyter:
      break;
  }
  std::vector<json::value> objects = {SecretObject(request)};
  if (request.has_own_claim) {
    objects.push_back(ClaimObject(request));
  }
  objects.push_back(ServiceObject(request));
  objects.push_back(DeploymentObject(request, placement));
  return objects;
}

json::value PodOf(const std::vector<json::value>& objects) {
  const json::object& last = objects.back().get_object();
  if (kube::TextField(objects.back(), {"kind"}) == "Pod") {
    return last;
  }
  json::object pod = last.at("spec").at("template").get_object();
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  json::object& metadata = pod["metadata"].get_object();
  metadata["name"] = last.at("metadata").at("name");
  metadata["namespace"] = last.at("metadata").at("namespace");
  return pod;
}

std::string SelectorOf(std::string_view name) {
  return fmt::format("app.kubernetes.io/managed-by={}{}", kManager,
                     name.empty() ? "" : fmt::format(",{}={}", kInstanceLabel, name));
}

}  // namespace kgpu::run
