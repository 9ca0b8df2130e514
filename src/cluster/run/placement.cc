#include "src/cluster/run/placement.h"

#include <boost/json.hpp>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "src/gpu/cuda/compatibility.h"
#include "src/kube/api/json.h"
#include "src/node/labels/model_affinity.h"
#include "src/node/sharing/share.h"
#include "src/platform/base/ascii.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::run {
namespace {

namespace json = boost::json;

constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr std::string_view kDriver = "nvidia.com/cuda.driver-version.full";
constexpr std::string_view kDriverMajor = "nvidia.com/cuda.driver-version.major";
constexpr std::string_view kModelPrefix = labels::kModelLabelPrefix;
constexpr std::string_view kCount = ".count";

std::string_view LabelOf(const NodeGpus& node, std::string_view key) {
  const auto found = node.labels.find(key);
  return found == node.labels.end() ? std::string_view() : found->second;
}

int64_t NumberOf(std::string_view text) {
  return static_cast<int64_t>(ParseUint(text).value_or(0));
}

// Whether the node has GPUs of `model` ("": any) with the memory.
bool HasModel(const NodeGpus& node, const std::string& model, int64_t memory_mib) {
  if (model.empty()) {
    return NumberOf(LabelOf(node, labels::kMemoryLabel)) >= memory_mib;
  }
  if (const auto found = node.models.find(model); found != node.models.end()) {
    return found->second >= memory_mib;
  }
  const std::vector<std::string> products = labels::ProductsOf(model);
  return node.models.empty() &&
         std::ranges::find(products, LabelOf(node, labels::kProductLabel)) != products.end() &&
         NumberOf(LabelOf(node, labels::kMemoryLabel)) >= memory_mib;
}

// "nvidia.com/gpu-a100-sxm4-80gb" for A100-SXM4-80GB: a pool of one model.
bool IsResourceOf(std::string_view resource, std::string_view model) {
  const size_t slash = resource.find('/');
  const std::string name =
      ToLower(slash == std::string_view::npos ? resource : resource.substr(slash + 1));
  const std::string wanted = ToLower(model);
  return name == wanted || name.ends_with("-" + wanted);
}

// Models of a node that do not do.
std::vector<std::string> OtherModels(const NodeGpus& node, const RunRequest& request) {
  std::vector<std::string> others;
  for (const auto& [model, memory] : node.models) {
    const bool is_listed =
        request.models.empty() || std::ranges::find(request.models, model) != request.models.end();
    if (!is_listed || memory < request.memory_mib) {
      others.push_back(model);
    }
  }
  return others;
}

bool Wants(const RunRequest& request) {
  return !request.models.empty() || request.memory_mib > 0;
}

bool HasWanted(const NodeGpus& node, const RunRequest& request) {
  if (request.models.empty()) {
    return HasModel(node, "", request.memory_mib);
  }
  return std::ranges::any_of(request.models, [&](const std::string& model) {
    return HasModel(node, model, request.memory_mib);
  });
}

// The model whose pool `resource` is; empty: of any.
std::string PoolModel(const RunRequest& request, std::string_view resource) {
  const auto found = std::ranges::find_if(
      request.models, [&](const std::string& model) { return IsResourceOf(resource, model); });
  return found == request.models.end() ? std::string() : *found;
}

// The smallest memory slices that suffice for one GPU with this much memory; empty: no node with a
// wanted GPU offers any.
std::string ChooseSlices(const RunRequest& request, const std::vector<NodeGpus>& nodes) {
  std::string best;
  Bytes best_size{};
  for (const NodeGpus& node : nodes) {
    if (!HasWanted(node, request)) {
      continue;
    }
    for (const auto& [resource, amount] : node.resources) {
      const std::optional<Bytes> size = sharing::SliceOfResource(resource);
      const bool suits =
          size && amount > 0 && *size >= MebiBytes(static_cast<uint64_t>(request.memory_mib));
      if (suits && (best.empty() || *size < best_size)) {
        best = resource;
        best_size = *size;
      }
    }
  }
  return best;
}

// By how many nodes offer enough of it with GPUs that are wanted; a pool of one model before the
// common resource, models in the user's order.
std::string ChooseResource(const RunRequest& request, const std::vector<NodeGpus>& nodes) {
  if (request.memory_mib > 0 && request.gpus == 1) {
    if (std::string slices = ChooseSlices(request, nodes); !slices.empty()) {
      return slices;
    }
  }
  std::map<std::string, int64_t> counts;
  for (const NodeGpus& node : nodes) {
    if (!HasWanted(node, request)) {
      continue;
    }
    for (const auto& [resource, amount] : node.resources) {
      const std::string model = PoolModel(request, resource);
      const bool suits = model.empty() ? resource == kGpu && OtherModels(node, request).empty()
                                       : HasModel(node, model, request.memory_mib);
      if (suits && amount >= request.gpus) {
        ++counts[resource];
      }
    }
  }
  std::string best(kGpu);
  std::tuple<int64_t, bool> best_score{0, false};
  for (const auto& [resource, count] : counts) {
    const std::tuple score{count, resource != kGpu};
    if (score > best_score) {
      best = resource;
      best_score = score;
    }
  }
  return best;
}

// Where the common resource would give GPUs that are not wanted.
std::set<std::string> ModelsToAvoid(const RunRequest& request, const std::string& resource,
                                    const std::vector<NodeGpus>& nodes) {
  std::set<std::string> models;
  for (const NodeGpus& node : nodes) {
    if (PoolModel(request, resource).empty() && HasWanted(node, request)) {
      for (std::string& model : OtherModels(node, request)) {
        models.insert(std::move(model));
      }
    }
  }
  return models;
}

// The driver branch that all nodes must have because some have an older one.
struct DriverRule {
  int64_t least = 0;  // 0: no rule is needed
  // Nodes that would do otherwise do not label their driver, and are not judged.
  bool has_unknown = false;
};

// `term` as it is needed for the rule: once, or also for nodes without the label.
void AddRequired(json::array term, const DriverRule& driver, json::array& required) {
  json::array others = term;
  if (driver.least > 0) {
    term.push_back(labels::AtLeastRule(kDriverMajor, driver.least));
  }
  if (!term.empty()) {
    required.push_back(labels::RequiredTerm(std::move(term)));
  }
  if (driver.least > 0 && driver.has_unknown) {
    others.push_back(labels::LabelRule(kDriverMajor, "DoesNotExist"));
    required.push_back(labels::RequiredTerm(std::move(others)));
  }
}

json::object AffinityOf(const RunRequest& request, const std::string& resource,
                        const std::vector<NodeGpus>& nodes, const DriverRule& driver) {
  const std::string pool = PoolModel(request, resource);
  const std::vector<std::string> models = !pool.empty()            ? std::vector{pool}
                                          : request.models.empty() ? std::vector<std::string>{""}
                                                                   : request.models;
  json::array common;
  for (const std::string& model : ModelsToAvoid(request, resource, nodes)) {
    common.push_back(labels::WithoutModelRule(model));
  }
  json::array required;
  json::array preferred;
  for (size_t i = 0; i < models.size(); ++i) {
    for (json::array& rules : labels::ModelTerms(models[i], request.memory_mib)) {
      if (models.size() > 1) {
        preferred.push_back(labels::PreferredTerm(rules, i));
      }
      rules.insert(rules.end(), common.begin(), common.end());
      AddRequired(std::move(rules), driver, required);
    }
  }
  return labels::NodeAffinity(std::move(required), std::move(preferred));
}

StatusOr<DriverRule> DriverRuleFor(const RunRequest& request, const CudaNeed& need,
                                   const std::string& resource,
                                   const std::vector<NodeGpus>& nodes) {
  std::vector<std::string> too_old;
  bool has_fit = false;
  bool has_unknown = false;
  for (const NodeGpus& node : nodes) {
    const auto offers = node.resources.find(resource);
    if (offers == node.resources.end() || offers->second < request.gpus ||
        !HasWanted(node, request)) {
      continue;
    }
    const bool fits =
        !node.driver || cuda::FitOf(need.version, *node.driver, need.update) != cuda::Fit::kNone;
    has_fit = has_fit || fits;
    has_unknown = has_unknown || !node.driver;
    if (!fits) {
      too_old.push_back(fmt::format("{} has driver {}", node.name, node.driver->str()));
    }
  }
  if (too_old.empty()) {
    return DriverRule();
  }
  const auto minors = cuda::LeastDriverForMinors(need.version.major);
  const auto least = minors ? minors : cuda::LeastDriver(need.version, need.update);
  if (!has_fit) {
    return FailedPrecondition(
        "CUDA {} ({}) does not run on the nodes with the GPUs: {}: it needs driver {} or newer: "
        "update the driver, or choose an image with an older CUDA (`kgpu doctor image --pairs` "
        "shows which fit)",
        need.version.str(), need.source, Join(too_old, ", "), least ? least->str() : "unknown");
  }
  return DriverRule{.least = least ? static_cast<int64_t>(least->branch()) : 0,
                    .has_unknown = has_unknown};
}

}  // namespace

StatusOr<CudaNeed> ParseCuda(std::string_view text, std::string_view source) {
  CudaNeed need{.source = std::string(source)};
  StatusOr<cuda::VersionNumbers> numbers = cuda::ParseVersionNumbers(text);
  RETURN_IF_ERROR(Annotate(numbers.status(), "{}", source));
  need.version = {.major = (*numbers)[0], .minor = (*numbers)[1]};
  need.update = cuda::UpdateOf(*numbers);
  return need;
}

NodeGpus ReadNodeGpus(const json::value& node) {
  NodeGpus gpus{.name = std::string(kube::NameOf(node))};
  const json::value* labels = kube::FindField(node, {"metadata", "labels"});
  for (const auto& [key, value] :
       labels != nullptr && labels->is_object() ? labels->get_object() : json::object()) {
    if (!value.is_string()) {
      continue;
    }
    std::string_view name(key.data(), key.size());
    gpus.labels.emplace(name, std::string_view(value.get_string()));
    if (name.starts_with(kModelPrefix) && name.ends_with(kCount)) {
      name.remove_prefix(kModelPrefix.size());
      name.remove_suffix(kCount.size());
      gpus.models.emplace(name, 0);
    }
  }
  for (auto& [model, memory] : gpus.models) {
    memory = NumberOf(LabelOf(gpus, labels::ModelLabel(model, "memory")));
  }
  if (auto driver = cuda::DriverVersion::Parse(LabelOf(gpus, kDriver)); driver.ok()) {
    gpus.driver = *driver;
  }
  const json::value* amounts = kube::FindField(node, {"status", "allocatable"});
  for (const auto& [key, value] :
       amounts != nullptr && amounts->is_object() ? amounts->get_object() : json::object()) {
    const std::string_view name(key.data(), key.size());
    if (name.find('/') != std::string_view::npos && value.is_string()) {
      gpus.resources.emplace(name, NumberOf(std::string_view(value.get_string())));
    }
  }
  return gpus;
}

StatusOr<Placement> Place(const RunRequest& request, const std::optional<CudaNeed>& cuda,
                          const std::vector<NodeGpus>& nodes) {
  Placement placement;
  placement.resource = request.resource.empty() ? ChooseResource(request, nodes) : request.resource;
  DriverRule driver;
  if (cuda) {
    ASSIGN_OR_RETURN(driver, DriverRuleFor(request, *cuda, placement.resource, nodes));
    if (driver.least > 0) {
      placement.notes.push_back(fmt::format(
          "CUDA {} ({}): only nodes with driver {} or newer{}", cuda->version.str(), cuda->source,
          driver.least, driver.has_unknown ? ", or one that no label names" : ""));
    }
  }
  if (Wants(request) || driver.least > 0) {
    placement.affinity = AffinityOf(request, placement.resource, nodes, driver);
  }
  std::set<std::string> models;
  for (const NodeGpus& node : nodes) {
    for (const auto& [model, memory] : node.models) {
      models.insert(model);
    }
  }
  placement.models.assign(models.begin(), models.end());
  return placement;
}

}  // namespace kgpu::run
