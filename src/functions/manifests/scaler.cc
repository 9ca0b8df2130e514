#include "src/functions/manifests/scaler.h"

#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;

// OpenFx's.
constexpr int kCpuPercent = 80;
// The most that a HorizontalPodAutoscaler accepts.
constexpr std::chrono::seconds kMaxWindow{3'600};
constexpr int kKedaPollSeconds = 10;

json::object ScaleDownAfterIdle(const Function& function) {
  const auto idle = std::chrono::ceil<std::chrono::seconds>(function.scaling.idle);
  return {{"scaleDown", {{"stabilizationWindowSeconds", std::min(idle, kMaxWindow).count()}}}};
}

json::object AutoscalerOf(const Function& function) {
  const json::object cpu = {
      {"type", "Resource"},
      {"resource",
       {{"name", "cpu"},
        {"target", {{"type", "Utilization"}, {"averageUtilization", kCpuPercent}}}}}};
  return {{"apiVersion", "autoscaling/v2"},
          {"kind", "HorizontalPodAutoscaler"},
          {"spec",
           {{"scaleTargetRef",
             {{"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"name", function.name}}},
            {"minReplicas", function.scaling.min_replicas},
            {"maxReplicas", function.scaling.max_replicas},
            {"metrics", json::array{cpu}},
            {"behavior", ScaleDownAfterIdle(function)}}}};
}

// So many pods that each has as many of `series` as it takes calls.
json::object TriggerOf(const Function& function, const ManifestOptions& options,
                       std::string_view series) {
  const std::string& name = options.series_name.empty() ? function.name : options.series_name;
  return {{"type", "prometheus"},
          {"metadata",
           {{"serverAddress", options.prometheus_url},
            {"query", fmt::format("sum({}{{function_name=\"{}\"}})", series, name)},
            {"threshold", fmt::format("{}", function.calls.concurrency)}}}};
}

json::object ScaledObjectOf(const Function& function, const ManifestOptions& options) {
  const auto idle = std::chrono::ceil<std::chrono::seconds>(function.scaling.idle);
  return {
      {"apiVersion", "keda.sh/v1alpha1"},
      {"kind", "ScaledObject"},
      {"spec",
       {{"scaleTargetRef", {{"name", function.name}}},
        {"minReplicaCount", function.scaling.min_replicas},
        {"maxReplicaCount", function.scaling.max_replicas},
        {"pollingInterval", kKedaPollSeconds},
        {"cooldownPeriod", idle.count()},
        {"advanced",
         {{"horizontalPodAutoscalerConfig", {{"behavior", ScaleDownAfterIdle(function)}}}}},
        // The one that asks for more counts.
        {"triggers", json::array{TriggerOf(function, options, "kgpu_function_calls_in_flight"),
                                 TriggerOf(function, options, "kgpu_function_queue_waiting")}}}}};
}

}  // namespace

StatusOr<std::optional<json::object>> ScalerOf(const Function& function,
                                               const ManifestOptions& options) {
  switch (function.scaling.by) {
    case ScaledBy::kKgpu:
      break;
    case ScaledBy::kHpa:
      return std::optional(AutoscalerOf(function));
    case ScaledBy::kKeda:
      if (options.prometheus_url.empty()) {
        return FailedPrecondition(
            "scaling.by: keda: the gateway has no address of Prometheus, which KEDA queries: set "
            "functions.keda.prometheus of the chart (--prometheus-url), or scaling.by to kgpu");
      }
      return std::optional(ScaledObjectOf(function, options));
  }
  return std::optional<json::object>();
}

}  // namespace kgpu::functions
