#include "src/functions/manifests/gpu_choice.h"

#include <boost/json.hpp>

#include <algorithm>
#include <utility>

#include "src/node/labels/model_affinity.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;

std::string Amount(int64_t bytes) {
  return FormatQuantity(Bytes{static_cast<uint64_t>(bytes)});
}

bool IsAmong(const std::vector<std::string>& models, const std::string& model) {
  return std::ranges::find(models, model) != models.end();
}

// The smallest parts that suffice.
StatusOr<std::string> MemoryResource(int64_t memory, const ManifestOptions& options) {
  const auto found = options.memory_resources.lower_bound(memory);
  if (found != options.memory_resources.end()) {
    return found->second;
  }
  if (options.memory_resources.empty()) {
    return FailedPrecondition(
        "limits.gpu.memory: {}: no pool of this cluster divides GPUs by memory: remove memory to "
        "get whole GPUs, or choose them with limits.gpu.model",
        Amount(memory));
  }
  return FailedPrecondition(
      "limits.gpu.memory: {}: the largest part that a pool of this cluster makes of a GPU has {}: "
      "request less, or remove memory to get whole GPUs",
      Amount(memory), Amount(options.memory_resources.rbegin()->first));
}

// The first of the requested models that has a pool of its own.
std::string PooledModel(const GpuRequest& request, const ManifestOptions& options) {
  const auto found = std::ranges::find_if(request.models, [&](const std::string& model) {
    return options.model_resources.contains(model);
  });
  return found == request.models.end() ? std::string() : *found;
}

// Models that pods must not find beside `model`, since the scheduler counts GPUs of all models as
// one resource. One GPU may be of any of the requested models, several are of the same one.
json::array RulesAgainstOthers(const GpuRequest& request, const std::string& model,
                               const ManifestOptions& options) {
  json::array rules;
  for (const std::string& other : options.cluster_models) {
    const bool may_be_there = request.count == 1 ? IsAmong(request.models, other) : other == model;
    if (!may_be_there) {
      rules.push_back(labels::WithoutModelRule(other));
    }
  }
  return rules;
}

json::object AffinityFor(const std::vector<std::string>& models, const GpuRequest& request,
                         const ManifestOptions& options, bool is_pool_of_model) {
  json::array required;
  json::array preferred;
  for (size_t i = 0; i < models.size(); ++i) {
    const json::array against =
        is_pool_of_model ? json::array() : RulesAgainstOthers(request, models[i], options);
    for (json::array& rules : labels::ModelTerms(models[i], 0)) {
      if (models.size() > 1) {
        preferred.push_back(labels::PreferredTerm(rules, i));
      }
      rules.insert(rules.end(), against.begin(), against.end());
      required.push_back(labels::RequiredTerm(std::move(rules)));
    }
  }
  return labels::NodeAffinity(std::move(required), std::move(preferred));
}

void NoteAbsentModels(const GpuRequest& request, const ManifestOptions& options,
                      std::vector<std::string>& notes) {
  const bool has_one = std::ranges::any_of(request.models, [&](const std::string& model) {
    return IsAmong(options.cluster_models, model);
  });
  if (!request.models.empty() && !options.cluster_models.empty() && !has_one) {
    notes.push_back(
        fmt::format("limits.gpu.model: no node of this cluster has {} now: its GPUs are {}",
                    Join(request.models, " or "), Join(options.cluster_models, ", ")));
  }
}

}  // namespace

StatusOr<GpuChoice> ChooseGpus(const GpuRequest& request, const ManifestOptions& options) {
  GpuChoice choice;
  if (request.count == 0) {
    return choice;
  }
  NoteAbsentModels(request, options, choice.notes);
  std::vector<std::string> models = request.models;
  const std::string pooled = PooledModel(request, options);
  if (request.memory) {
    ASSIGN_OR_RETURN(choice.resource, MemoryResource(*request.memory, options));
  } else if (!pooled.empty()) {
    choice.resource = options.model_resources.at(pooled);
    models = {pooled};
    if (request.models.size() > 1) {
      choice.notes.push_back(fmt::format(
          "limits.gpu.model: pods request {}, which is of {} alone: they get no other model",
          choice.resource, pooled));
    }
  } else {
    choice.resource = kGpuResource;
  }
  choice.affinity = AffinityFor(models, request, options, !pooled.empty() && !request.memory);
  return choice;
}

}  // namespace kgpu::functions
