#include "src/functions/manifests/objects.h"

#include <boost/json.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "src/functions/manifests/gpu_choice.h"
#include "src/functions/manifests/pod_template.h"
#include "src/functions/manifests/scaler.h"
#include "src/functions/spec/image_name.h"
#include "src/functions/spec/wire.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;

// Of keys and values of one object. Source: Kubernetes, validation of ObjectMeta.
constexpr size_t kMaxAnnotationBytes = size_t{256} << 10;
constexpr int kKeptRevisions = 2;

bool IsListed(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

Status CheckName(const Function& function) {
  if (!function.name.empty() && function.name.front() >= '0' && function.name.front() <= '9') {
    return InvalidArgument(
        "function {}: on Kubernetes its name must begin with a letter, since it is a Service's: "
        "rename it",
        function.name);
  }
  return OkStatus();
}

Status CheckKeys(const Function& function) {
  const json::object labels = SelectorLabels(function);
  for (const auto& [key, value] : function.labels) {
    const json::value* ours = labels.if_contains(key);
    const bool differs = ours != nullptr ? ours->get_string() != json::string_view(value)
                                         : key == kOpenFxLabel && value != function.name;
    if (differs) {
      return InvalidArgument("function {}: labels.{}: is set by kgpu: remove it", function.name,
                             key);
    }
  }
  for (const auto& [key, value] : function.annotations) {
    if (key.starts_with("kgpu.dev/")) {
      return InvalidArgument("function {}: annotations.{}: is kgpu's: choose another key",
                             function.name, key);
    }
  }
  return OkStatus();
}

Status CheckSecrets(const Function& function, const ManifestOptions& options) {
  for (const std::string& secret : function.secrets) {
    if (!IsListed(options.pull_secrets, secret) && !IsListed(options.mounted_secrets, secret)) {
      return FailedPrecondition(
          "function {}: secrets: namespace {} has no Secret {}: kubectl -n {} create secret "
          "generic {} --from-file={}=FILE",
          function.name, options.space, secret, options.space, secret, secret);
    }
  }
  if (!function.registry_auth.empty()) {
    return FailedPrecondition(
        "function {}: registry_auth: a cluster keeps such credentials in a Secret: kubectl -n {} "
        "create secret docker-registry NAME, then list NAME in secrets and remove registry_auth",
        function.name, options.space);
  }
  return OkStatus();
}

Status CheckConstraintKeys(const Function& function) {
  std::map<std::string, std::string> seen;
  for (const std::string& constraint : function.constraints) {
    const size_t equals = constraint.find('=');
    const auto [known, is_new] =
        seen.emplace(constraint.substr(0, equals), constraint.substr(equals + 1));
    if (!is_new && known->second != constraint.substr(equals + 1)) {
      return InvalidArgument("function {}: constraints: {}: no node also has {}={}: remove one",
                             function.name, constraint, known->first, known->second);
    }
  }
  return OkStatus();
}

Status CheckForCluster(const Function& function, const ManifestOptions& options) {
  RETURN_IF_ERROR(CheckName(function));
  RETURN_IF_ERROR(CheckKeys(function));
  RETURN_IF_ERROR(CheckConstraintKeys(function));
  return CheckSecrets(function, options);
}

json::object MetadataOf(const Function& function, const ManifestOptions& options) {
  return {
      {"name", function.name}, {"namespace", options.space}, {"labels", FunctionLabels(function)}};
}

// `object` with its metadata before its spec, as people expect it.
json::object WithMetadata(json::object object, const Function& function,
                          const ManifestOptions& options) {
  json::value spec = std::move(object["spec"]);
  object.erase("spec");
  object["metadata"] = MetadataOf(function, options);
  object["spec"] = std::move(spec);
  return object;
}

StatusOr<json::object> DeploymentAnnotations(const Function& function,
                                             const ManifestOptions& options) {
  json::object annotations = doc::TextMap(function.annotations);
  if (!function.description.empty()) {
    annotations["desc"] = function.description;
  }
  if (!function.maintainer.empty()) {
    annotations["maintainer"] = function.maintainer;
  }
  annotations[kFunctionAnnotation] = doc::PrintLine(ToWire(function));
  annotations[kDeployedAtAnnotation] = options.deployed_at;
  size_t bytes = 0;
  for (const auto& [key, value] : annotations) {
    bytes += key.size() + value.get_string().size();
  }
  if (bytes > kMaxAnnotationBytes) {
    return InvalidArgument(
        "function {}: {} bytes of fields and annotations exceed the {} that an object of "
        "Kubernetes may carry: move large variables to a secret, or into the image",
        function.name, bytes, kMaxAnnotationBytes);
  }
  return annotations;
}

// A pod that is replaced must free its GPU first: there may be no other.
json::object StrategyOf(const Function& function) {
  const bool has_gpus = function.gpu.count > 0;
  return {
      {"type", "RollingUpdate"},
      {"rollingUpdate", {{"maxSurge", has_gpus ? 0 : 1}, {"maxUnavailable", has_gpus ? 1 : 0}}}};
}

StatusOr<json::object> DeploymentOf(const Function& function, const ManifestOptions& options,
                                    const GpuChoice& gpus) {
  json::object metadata = MetadataOf(function, options);
  ASSIGN_OR_RETURN(metadata["annotations"], DeploymentAnnotations(function, options));
  json::object spec;
  if (!options.is_update) {
    spec["replicas"] = function.scaling.min_replicas;
  }
  spec["revisionHistoryLimit"] = kKeptRevisions;
  spec["selector"] = {{"matchLabels", SelectorLabels(function)}};
  spec["strategy"] = StrategyOf(function);
  spec["template"] = PodTemplate(function, options, gpus);
  return json::object{{"apiVersion", "apps/v1"},
                      {"kind", "Deployment"},
                      {"metadata", std::move(metadata)},
                      {"spec", std::move(spec)}};
}

json::object ServiceOf(const Function& function) {
  const auto port = [](const char* name, int number) {
    return json::object{{"name", name}, {"port", number}, {"targetPort", name}};
  };
  return {
      {"apiVersion", "v1"},
      {"kind", "Service"},
      {"spec",
       {{"selector", SelectorLabels(function)},
        {"ports", json::array{port("http", kFunctionHttpPort), port("grpc", kFunctionGrpcPort)}}}}};
}

// Answers of calls are no traffic of its own.
json::object NoNetworkPolicy(const Function& function) {
  return {{"apiVersion", "networking.k8s.io/v1"},
          {"kind", "NetworkPolicy"},
          {"spec",
           {{"podSelector", {{"matchLabels", SelectorLabels(function)}}},
            {"policyTypes", json::array{"Egress"}},
            {"egress", json::array()}}}};
}

void AddNotes(const Function& function, std::vector<std::string>& notes) {
  if (function.pids != Function{}.pids) {
    notes.push_back(fmt::format(
        "pids: {}: not considered: on Kubernetes each node limits the processes of its pods",
        function.pids));
  }
  if (function.network == NetworkAccess::kNone) {
    notes.emplace_back(
        "network: none: takes effect where the cluster's network plugin enforces NetworkPolicies");
  }
  if (const std::string image = ImageNameOf(function); RegistryOf(image) == "localhost") {
    notes.push_back(fmt::format(
        "image {}: is in no registry: pods start only on nodes that have it already", image));
  }
}

}  // namespace

StatusOr<FunctionObjects> ObjectsOf(const Function& function, const ManifestOptions& options) {
  RETURN_IF_ERROR(CheckForCluster(function, options));
  FunctionObjects objects;
  ASSIGN_OR_RETURN(GpuChoice gpus, ChooseGpus(function.gpu, options));
  ASSIGN_OR_RETURN(objects.deployment, DeploymentOf(function, options, gpus));
  objects.service = WithMetadata(ServiceOf(function), function, options);
  ASSIGN_OR_RETURN(std::optional<json::object> scaler, ScalerOf(function, options));
  if (scaler) {
    objects.scaler = WithMetadata(*std::move(scaler), function, options);
  }
  if (function.network == NetworkAccess::kNone) {
    objects.network_policy = WithMetadata(NoNetworkPolicy(function), function, options);
  }
  objects.notes = std::move(gpus.notes);
  AddNotes(function, objects.notes);
  return objects;
}

}  // namespace kgpu::functions
