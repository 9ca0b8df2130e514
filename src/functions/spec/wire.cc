#include "src/functions/spec/wire.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "src/functions/spec/checks.h"
#include "src/functions/spec/function_check.h"
#include "src/functions/spec/readers.h"
#include "src/functions/spec/trees.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/doc/located.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;

using config::Node;
using config::Problems;

constexpr ResourceKeys kWireResourceKeys = {"Memory", "CPU", "GPU"};
constexpr std::string_view kDescription = "desc";
constexpr std::string_view kMaintainer = "maintainer";

// proto3 cannot tell 0 from "not set".
constexpr Range kWireReplicasRange{0, kMaxReplicasRange.high};

// A request whose fields are still being read.
struct Request {
  Problems& problems;
  Function function{};
  GivenGpus limit{};
  GivenGpus request{};
  GivenGpus own{};
  int64_t min_replicas = 0;
  int64_t max_replicas = 0;
  GivenReplicas own_replicas{};
  bool has_name = false;
};

struct RequestField {
  std::string_view name;
  void (*read)(const Node& node, Request& request);
};

constexpr std::array<RequestField, 3> kKgpuFields = {{
    {"runtime",
     [](const Node& node, Request& request) { ReadRuntime(node, request.function.runtime); }},
    {"gpu", [](const Node& node, Request& request) { request.own = ReadGpus(node); }},
    {"replicas",
     [](const Node& node, Request& request) { request.own_replicas = ReadReplicas(node); }},
}};

// The fields that OpenFx lacks.
void ReadKgpu(const Node& node, Request& request) {
  std::vector<std::string_view> keys;
  for (const RequestField& field : kKgpuFields) {
    keys.push_back(field.name);
  }
  for (const OwnField& field : OwnFields()) {
    keys.push_back(field.name);
  }
  node.ForEachField(keys, [&request](std::string_view name, const Node& field) {
    const auto* const found = std::ranges::find(kKgpuFields, name, &RequestField::name);
    if (found != kKgpuFields.end()) {
      found->read(field, request);
      return;
    }
    const auto own = std::ranges::find(OwnFields(), name, &OwnField::name);
    own->read(field, request.problems, request.function);
  });
}

void ReadName(const Node& node, Request& request) {
  request.has_name = true;
  config::Set(request.function.name, node.CheckedString(&CheckFunctionName));
}

constexpr std::array<RequestField, 13> kRequestFields = {{
    {"Service", &ReadName},
    {"Image", [](const Node& node,
                 Request& request) { ReadText(node, &CheckImage, request.function.image); }},
    {"EnvVars",
     [](const Node& node, Request& request) {
       ReadTextMap(node, &CheckVariableName, &CheckText, request.function.environment);
     }},
    {"Labels",
     [](const Node& node, Request& request) {
       ReadTextMap(node, &CheckLabelKey, &CheckLabelValue, request.function.labels);
     }},
    {"Annotations",
     [](const Node& node, Request& request) {
       ReadTextMap(node, &CheckLabelKey, &CheckText, request.function.annotations);
     }},
    {"Constraints",
     [](const Node& node, Request& request) {
       ReadTexts(node, &CheckConstraint, request.function.constraints);
     }},
    {"Secrets",
     [](const Node& node, Request& request) {
       ReadTexts(node, &CheckSecretName, request.function.secrets);
     }},
    {"RegistryAuth",
     [](const Node& node, Request& request) {
       ReadText(node, &CheckRegistryAuth, request.function.registry_auth);
     }},
    {"Limits",
     [](const Node& node, Request& request) {
       GivenResources given = ReadResources(node, kWireResourceKeys);
       request.function.limits = given.amounts;
       request.limit = std::move(given.gpus);
     }},
    {"Requests",
     [](const Node& node, Request& request) {
       GivenResources given = ReadResources(node, kWireResourceKeys);
       request.function.requests = given.amounts;
       request.request = std::move(given.gpus);
     }},
    {"MinReplicas",
     [](const Node& node, Request& request) {
       config::Set(request.min_replicas, ReadCount(node, kWireReplicasRange));
     }},
    {"MaxReplicas",
     [](const Node& node, Request& request) {
       config::Set(request.max_replicas, ReadCount(node, kWireReplicasRange));
     }},
    {"Kgpu", &ReadKgpu},
}};

constexpr std::array<std::string_view, kRequestFields.size()> kRequestKeys = [] {
  std::array<std::string_view, kRequestFields.size()> keys{};
  std::ranges::transform(kRequestFields, keys.begin(), &RequestField::name);
  return keys;
}();

// OpenFx has no fields for them.
void TakeAnnotation(std::string_view key, std::map<std::string, std::string>& annotations,
                    std::string& out) {
  if (auto found = annotations.extract(std::string(key)); !found.empty()) {
    out = std::move(found.mapped());
  }
}

// MinReplicas and MaxReplicas of 0 are OpenFx's "not set". Who wants no replicas without calls says
// how many there may be.
GivenReplicas ReplicasOf(const Node& root, const Request& request) {
  const GivenReplicas& own = request.own_replicas;
  const bool is_set = request.min_replicas != 0 || request.max_replicas != 0;
  const GivenReplicas given{
      .min = is_set ? std::optional(request.min_replicas) : std::nullopt,
      .max = request.max_replicas != 0 ? std::optional(request.max_replicas) : std::nullopt};
  if ((own.min && given.min && *own.min != *given.min) ||
      (own.max && given.max && *own.max != *given.max)) {
    root.Error("Kgpu.replicas: must equal MinReplicas and MaxReplicas: remove one of them");
  }
  return {.min = own.min ? own.min : given.min, .max = own.max ? own.max : given.max};
}

Function ReadRequest(const Node& root, Problems& problems) {
  Request request{.problems = problems};
  root.ForEachField(kRequestKeys, [&request](std::string_view name, const Node& field) {
    std::ranges::find(kRequestFields, name, &RequestField::name)->read(field, request);
  });
  if (!request.has_name && root.is_map()) {
    root.Error("Service: missing: set it to the name of the function");
  }
  Function& function = request.function;
  GivenGpus limits = MergeGpus(std::move(request.limit), request.request, "Limits.GPU", problems);
  const GivenGpus gpus =
      MergeGpus(std::move(limits), request.own, "Limits.GPU and Requests.GPU", problems);
  function.gpu = gpus.request.value_or(GpuRequest{});
  ApplyReplicas(ReplicasOf(root, request), function.scaling);
  TakeAnnotation(kDescription, function.annotations, function.description);
  TakeAnnotation(kMaintainer, function.annotations, function.maintainer);
  for (const std::string& conflict : ConflictsIn(function)) {
    root.Error("{}", conflict);
  }
  return std::move(function);
}

json::object WireResources(const Resources& resources, int64_t gpus) {
  return {{"Memory", resources.memory ? MemoryText(*resources.memory) : ""},
          {"CPU", resources.cpu_millis ? FormatCpuMillis(*resources.cpu_millis) : ""},
          {"GPU", gpus > 0 ? fmt::format("{}", gpus) : ""}};
}

json::object WireAnnotations(const Function& function) {
  json::object annotations = doc::TextMap(function.annotations);
  if (!function.description.empty()) {
    annotations[doc::View(kDescription)] = function.description;
  }
  if (!function.maintainer.empty()) {
    annotations[doc::View(kMaintainer)] = function.maintainer;
  }
  return annotations;
}

json::object KgpuTree(const Function& function) {
  json::object tree;
  if (!function.runtime.empty()) {
    tree["runtime"] = function.runtime;
  }
  if (function.gpu.count > 0) {
    tree["gpu"] = GpuTree(function.gpu);
  }
  tree["replicas"] = ReplicasTree(function.scaling);
  AddOwnFields(function, tree);
  return tree;
}

}  // namespace

json::object ToWire(const Function& function) {
  return {{"Service", function.name},
          {"Image", function.image},
          {"EnvVars", doc::TextMap(function.environment)},
          {"Labels", doc::TextMap(function.labels)},
          {"Annotations", WireAnnotations(function)},
          {"Constraints", doc::Texts(function.constraints)},
          {"Secrets", doc::Texts(function.secrets)},
          {"RegistryAuth", function.registry_auth},
          {"Limits", WireResources(function.limits, function.gpu.count)},
          {"Requests", WireResources(function.requests, 0)},
          {"MinReplicas", fmt::format("{}", function.scaling.min_replicas)},
          {"MaxReplicas", fmt::format("{}", function.scaling.max_replicas)},
          {"Kgpu", KgpuTree(function)}};
}

StatusOr<Function> ParseWire(std::string_view text, std::string_view where) {
  ASSIGN_OR_RETURN(const doc::Located document,
                   doc::ParseLocated(text, doc::Format::kJson, where, kDocumentLimits));
  Problems problems(where);
  Function function = ReadRequest(Node(document, problems), problems);
  RETURN_IF_ERROR(problems.ToStatus());
  return function;
}

}  // namespace kgpu::functions
