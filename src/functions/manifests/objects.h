// A function as objects of Kubernetes, and back. Pure functions: who sends the objects adds nothing
// but SetOwner. docs/how-it-works/functions-on-kubernetes.md describes the objects.
#pragma once

#include <boost/json/object.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/functions/spec/function.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

// Labels of Deployment, Service, scaler, policy and pods.
inline constexpr char kManagedByLabel[] = "app.kubernetes.io/managed-by";
inline constexpr char kGatewayManager[] = "kgpu-gateway";
inline constexpr char kFunctionNameLabel[] = "kgpu.dev/function";
inline constexpr char kOpenFxLabel[] = "openfx_fn";  // OpenFx's, for its users' selectors
// A label selector of everything that belongs to functions.
inline constexpr char kManagedSelector[] = "app.kubernetes.io/managed-by=kgpu-gateway";

// Annotations of the Deployment: the function as spec/wire.h writes it; when it was deployed
// (RFC 3339).
inline constexpr char kFunctionAnnotation[] = "kgpu.dev/function";
inline constexpr char kDeployedAtAnnotation[] = "kgpu.dev/deployed-at";
// Annotations of the pods: what they were made from, so that a pod with another value is outdated;
// when a `replace` asked for new pods.
inline constexpr char kTemplateHashAnnotation[] = "kgpu.dev/template-hash";
inline constexpr char kReplacedAtAnnotation[] = "kgpu.dev/replaced-at";

inline constexpr char kFunctionContainer[] = "function";
inline constexpr int kFunctionHttpPort = 8080;   // named "http"
inline constexpr int kFunctionGrpcPort = 50051;  // named "grpc"
inline constexpr char kGpuResource[] = "nvidia.com/gpu";

// What the function does not say itself.
struct ManifestOptions {
  std::string space{};  // the namespace
  // Leaves spec.replicas out of the Deployment, since the scaler sets it. Without it, replicas are
  // replicas.min.
  bool is_update = false;
  std::string deployed_at{};  // RFC 3339
  // Of the last `replace`; on other updates ReplacedAtOf(the Deployment that exists): pods with
  // another value are replaced. Empty: never.
  std::string replaced_at{};

  // The function's secrets by their type: kubernetes.io/dockerconfigjson and
  // kubernetes.io/dockercfg are used to pull its image, the keys of all others are files in
  // /etc/openfx.
  std::vector<std::string> pull_secrets{};
  std::vector<std::string> mounted_secrets{};
  // Where handlers call other functions: "host:port". Empty: they cannot.
  std::string mesh_url{};

  // The resources of pools that have GPUs of one model only. A function that requests one of these
  // models gets its pool's resource; all others get nvidia.com/gpu.
  std::map<std::string, std::string> model_resources{};
  // The resources of pools that divide GPUs by memory, by the bytes of each part. Empty: a function
  // with gpu.memory is refused.
  std::map<int64_t, std::string> memory_resources{};
  // All models that the labels of the cluster's nodes name: a function that requests some of them
  // is kept off nodes where it could get another one.
  std::vector<std::string> cluster_models{};

  // Of `scaling.by: keda`: where Prometheus answers, "http://prometheus.monitoring:9090", and the
  // function's name in the gateway's series; empty: its name.
  std::string prometheus_url{};
  std::string series_name{};
};

struct FunctionObjects {
  boost::json::object deployment;
  boost::json::object service;
  // A HorizontalPodAutoscaler or a ScaledObject, if the function has `scaling.by`.
  std::optional<boost::json::object> scaler;
  // A NetworkPolicy, if the function has `network: none`.
  std::optional<boost::json::object> network_policy;
  // What its author should know: sentences.
  std::vector<std::string> notes;
};

// Errors: InvalidArgument, FailedPrecondition: the field, its value, and what to do: the cluster
// cannot run such a function.
StatusOr<FunctionObjects> ObjectsOf(const Function& function, const ManifestOptions& options);

// The function that a Deployment of ObjectsOf was made from. What only a build needs, and
// `registry_auth`, are not kept there. Errors: InvalidArgument: the Deployment has no such
// annotation, or it is not a function's; names the Deployment.
StatusOr<Function> FunctionOf(const boost::json::object& deployment);

// The annotations of `deployment`; empty if it has none.
std::string_view DeployedAtOf(const boost::json::object& deployment);
std::string_view ReplacedAtOf(const boost::json::object& deployment);
// Of the pods that `deployment` makes, and of one of them.
std::string_view TemplateHashOf(const boost::json::object& deployment);
std::string_view PodTemplateHashOf(const boost::json::object& pod);

// Makes `object` go with `deployment`, which must be as the server returned it.
// Errors: InvalidArgument: it has no uid.
Status SetOwner(const boost::json::object& deployment, boost::json::object& object);

}  // namespace kgpu::functions
