#include "src/functions/manifests/pod_template.h"

#include <boost/json.hpp>

#include <chrono>
#include <string>
#include <utility>

#include "src/functions/spec/checks.h"
#include "src/functions/spec/image_name.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/stable_hash.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;

constexpr char kSecretPath[] = "/etc/openfx";
constexpr int kSecretMode = 0444;
// After the calls have had their time, for the watchdog to end.
constexpr std::chrono::seconds kEndTime{5};

// Kubernetes takes $(NAME) for another variable's value, and $$ for a dollar sign.
std::string Literal(std::string_view value) {
  std::string text;
  for (const char c : value) {
    text += c == '$' ? "$$" : std::string(1, c);
  }
  return text;
}

void AddVariable(std::string_view name, std::string_view value, json::array& list) {
  list.push_back({{"name", doc::View(name)}, {"value", doc::View(value)}});
}

json::array EnvironmentOf(const Function& function, const ManifestOptions& options) {
  json::array list;
  for (const auto& [name, value] : function.environment) {
    AddVariable(name, Literal(value), list);
  }
  const Calls& calls = function.calls;
  // After the author's: the last one of a name counts.
  AddVariable("KGPU_FN_LISTEN", fmt::format(":{}", kFunctionHttpPort), list);
  AddVariable("KGPU_FN_GRPC", fmt::format(":{}", kFunctionGrpcPort), list);
  AddVariable("KGPU_FN_CONCURRENCY", fmt::format("{}", calls.concurrency), list);
  AddVariable("KGPU_FN_PROCESSES", fmt::format("{}", calls.processes), list);
  AddVariable("KGPU_FN_TIMEOUT", FormatDuration(calls.timeout), list);
  // A pod that is removed ends its calls first, as long as one may take.
  AddVariable("KGPU_FN_GRACE", FormatDuration(calls.timeout), list);
  if (calls.max_input) {
    AddVariable("KGPU_FN_MAX_BODY", fmt::format("{}", *calls.max_input), list);
  }
  if (calls.max_output) {
    AddVariable("KGPU_FN_MAX_OUTPUT", fmt::format("{}", *calls.max_output), list);
  }
  AddVariable("KGPU_FN_NAME", function.name, list);
  if (!options.mesh_url.empty() && function.network != NetworkAccess::kNone) {
    AddVariable("KGPU_FN_MESH", options.mesh_url, list);
  }
  if (function.gpu.count == 0) {
    // Images with CUDA say "all", and older runtimes would give a pod without GPUs every one.
    AddVariable("NVIDIA_VISIBLE_DEVICES", "void", list);
  }
  return list;
}

json::object Amounts(const Resources& resources) {
  json::object amounts;
  if (resources.memory) {
    amounts["memory"] = FormatQuantity(Bytes{static_cast<uint64_t>(*resources.memory)});
  }
  if (resources.cpu_millis) {
    amounts["cpu"] = FormatCpuMillis(*resources.cpu_millis);
  }
  return amounts;
}

json::object ResourcesOf(const Function& function, const GpuChoice& gpus) {
  json::object limits = Amounts(function.limits);
  if (!gpus.resource.empty()) {
    limits[gpus.resource] = fmt::format("{}", function.gpu.count);
  }
  json::object resources;
  if (!limits.empty()) {
    resources["limits"] = std::move(limits);
  }
  if (json::object requests = Amounts(function.requests); !requests.empty()) {
    resources["requests"] = std::move(requests);
  }
  return resources;
}

json::object Probe(const char* path, int period, int failures) {
  return {{"httpGet", {{"path", path}, {"port", "http"}}},
          {"periodSeconds", period},
          {"timeoutSeconds", 2},
          {"failureThreshold", failures}};
}

void AddVolume(const char* name, json::object source, const char* path, bool is_read_only,
               json::object& spec, json::object& container) {
  source["name"] = name;
  json::object mount = {{"name", name}, {"mountPath", path}};
  if (is_read_only) {
    mount["readOnly"] = true;
  }
  const auto append = [](json::object& parent, const char* key, json::object item) {
    json::value& list = parent[key];
    (list.is_array() ? list.get_array() : list.emplace_array()).push_back(std::move(item));
  };
  append(spec, "volumes", std::move(source));
  append(container, "volumeMounts", std::move(mount));
}

void AddVolumes(const Function& function, const ManifestOptions& options, json::object& spec,
                json::object& container) {
  if (!options.mounted_secrets.empty()) {
    json::array sources;
    for (const std::string& secret : options.mounted_secrets) {
      sources.push_back(json::object{{"secret", {{"name", secret}}}});
    }
    AddVolume("secrets",
              {{"projected", {{"defaultMode", kSecretMode}, {"sources", std::move(sources)}}}},
              kSecretPath, true, spec, container);
  }
  if (function.has_read_only_root) {
    AddVolume("tmp", {{"emptyDir", json::object()}}, "/tmp", false, spec, container);
  }
}

json::object ContainerOf(const Function& function, const ManifestOptions& options,
                         const GpuChoice& gpus) {
  const std::string image = ImageNameOf(function);
  json::object container = {{"name", kFunctionContainer}, {"image", image}};
  if (RegistryOf(image) == "localhost") {
    // It is on the nodes or nowhere.
    container["imagePullPolicy"] = "IfNotPresent";
  }
  container["env"] = EnvironmentOf(function, options);
  container["ports"] = {{{"name", "http"}, {"containerPort", kFunctionHttpPort}},
                        {{"name", "grpc"}, {"containerPort", kFunctionGrpcPort}}};
  // Often, since calls wait for the first pod.
  container["readinessProbe"] = Probe("/_/ready", 1, 3);
  // Of the watchdog alone: it restarts handlers by itself.
  container["livenessProbe"] = Probe("/_/health", 10, 6);
  container["resources"] = ResourcesOf(function, gpus);
  container["securityContext"] = {{"allowPrivilegeEscalation", false},
                                  {"readOnlyRootFilesystem", function.has_read_only_root},
                                  {"capabilities", {{"drop", json::array{"ALL"}}}}};
  return container;
}

json::array Toleration(const std::string& resource) {
  json::array tolerations;
  const auto add = [&](std::string_view key) {
    tolerations.push_back(
        {{"key", doc::View(key)}, {"operator", "Exists"}, {"effect", "NoSchedule"}});
  };
  add(kGpuResource);
  if (resource != kGpuResource) {
    add(resource);
  }
  return tolerations;
}

void AddNodes(const Function& function, const GpuChoice& gpus, json::object& spec) {
  json::object node_labels;
  for (const std::string& constraint : function.constraints) {
    const size_t equals = constraint.find('=');
    node_labels[doc::View(constraint.substr(0, equals))] = doc::View(constraint.substr(equals + 1));
  }
  if (!node_labels.empty()) {
    spec["nodeSelector"] = std::move(node_labels);
  }
  if (!gpus.affinity.empty()) {
    spec["affinity"] = gpus.affinity;
  }
  if (!gpus.resource.empty()) {
    spec["tolerations"] = Toleration(gpus.resource);
  }
}

json::object PodSpecOf(const Function& function, const ManifestOptions& options,
                       const GpuChoice& gpus) {
  const auto grace = std::chrono::ceil<std::chrono::seconds>(function.calls.timeout) + kEndTime;
  json::object spec = {{"automountServiceAccountToken", false},
                       {"enableServiceLinks", false},
                       {"terminationGracePeriodSeconds", grace.count()},
                       {"securityContext", {{"seccompProfile", {{"type", "RuntimeDefault"}}}}}};
  if (!options.pull_secrets.empty()) {
    json::array secrets;
    for (const std::string& secret : options.pull_secrets) {
      secrets.push_back(json::object{{"name", secret}});
    }
    spec["imagePullSecrets"] = std::move(secrets);
  }
  AddNodes(function, gpus, spec);
  json::object container = ContainerOf(function, options, gpus);
  AddVolumes(function, options, spec, container);
  spec["containers"] = json::array{std::move(container)};
  return spec;
}

}  // namespace

json::object SelectorLabels(const Function& function) {
  return {{kManagedByLabel, kGatewayManager}, {kFunctionNameLabel, function.name}};
}

json::object FunctionLabels(const Function& function) {
  json::object labels = SelectorLabels(function);
  labels[kOpenFxLabel] = function.name;
  for (const auto& [key, value] : function.labels) {
    labels.emplace(doc::View(key), doc::View(value));
  }
  return labels;
}

json::object PodTemplate(const Function& function, const ManifestOptions& options,
                         const GpuChoice& gpus) {
  json::object annotations = doc::TextMap(function.annotations);
  if (!options.replaced_at.empty()) {
    annotations[kReplacedAtAnnotation] = options.replaced_at;
  }
  json::object pod = {{"metadata", {{"labels", FunctionLabels(function)}}},
                      {"spec", PodSpecOf(function, options, gpus)}};
  json::object& metadata = pod["metadata"].as_object();
  metadata["annotations"] = annotations;
  const std::string hash = fmt::format("{:016x}", StableHash(doc::PrintLine(pod)));
  metadata["annotations"].as_object()[kTemplateHashAnnotation] = hash;
  return pod;
}

}  // namespace kgpu::functions
