#include "src/node/labels/gpu_resource.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "src/gpu/device/mig_mode.h"
#include "src/node/config/resource_name.h"
#include "src/node/labels/gpu_names.h"
#include "src/node/sharing/kind.h"

namespace kgpu::labels {
namespace {

using config::MigStrategy;
using device::Gpu;
using device::IsInMigMode;
using device::MigDevice;
using Labels = std::map<std::string, std::string>;

// How one resource is shared, as its labels tell.
struct Sharing {
  unsigned replicas = 1;  // 0: sharing does not apply
  bool is_renamed = false;
  std::string_view strategy{};

  bool is_shared() const { return replicas > 1; }
};

class ResourceLabels {
 public:
  ResourceLabels(std::string_view resource, Labels& labels)
      : head_(fmt::format("{}.", resource)), labels_(labels) {}

  template <typename Value>
  void Put(std::string_view name, const Value& value) const {
    labels_[fmt::format("{}{}", head_, name)] = fmt::format("{}", value);
  }

  // `parts` of the product's name as the driver has them.
  void PutBase(const std::vector<std::string_view>& parts, size_t count,
               const Sharing& sharing) const {
    std::string product;
    for (const std::string_view part : parts) {
      product += fmt::format("{}{}", product.empty() ? "" : "-", SanitizedValue(part));
    }
    if (sharing.is_shared() && !sharing.is_renamed) {
      product += "-SHARED";
    }
    Put("product", SanitizedValue(product));
    Put("count", count);
    Put("replicas", sharing.replicas);
    Put("sharing-strategy", sharing.is_shared() ? sharing.strategy : "none");
  }

 private:
  std::string head_;
  Labels& labels_;
};

// The strategy of the pool that hands out whole GPUs or its replacement, else the node's.
MigStrategy StrategyOf(const config::NodeConfig& config) {
  for (const config::Pool& pool : config.pools) {
    if (sharing::MakesDevices(pool.share)) {
      return MigStrategy::kMixed;
    }
    if (pool.mig && config::ResourceOf(pool) == config::kDefaultResource) {
      return *pool.mig;
    }
  }
  return config.mig;
}

// As NVIDIA's plugin shares: slots without sizes.
bool HasReplicas(const sharing::Share& share) {
  return share.replicas > 1;
}

Sharing SharingOf(const config::NodeConfig& config, std::string_view resource) {
  for (const config::Pool& pool : config.pools) {
    const bool is_it = config::ResourceOf(pool) == resource;
    if (is_it && HasReplicas(pool.share)) {
      return {.replicas = pool.share.replicas,
              .is_renamed = false,
              .strategy = pool.share.by->traits().foreign.label};
    }
    if (is_it) {
      return {};
    }
  }
  // Another name of NVIDIA's for the same devices: nvidia.com/gpu.shared.
  const std::string renamed = fmt::format("{}.shared", resource);
  for (const config::Pool& pool : config.pools) {
    if (pool.resource == renamed && HasReplicas(pool.share)) {
      return {.replicas = pool.share.replicas,
              .is_renamed = true,
              .strategy = pool.share.by->traits().foreign.label};
    }
  }
  return {};
}

struct ModelCount {
  const Gpu* sample = nullptr;  // one that is not in MIG mode where there is one
  size_t count = 0;
};

// The model that nvidia.com/gpu.* describe.
ModelCount LeadModel(const device::Snapshot& snapshot) {
  std::map<std::string_view, ModelCount> models;
  for (const Gpu& gpu : snapshot.gpus) {
    ModelCount& model = models[gpu.name];
    ++model.count;
    if (model.sample == nullptr || (IsInMigMode(*model.sample) && !IsInMigMode(gpu))) {
      model.sample = &gpu;
    }
  }
  const auto rank = [](const auto& entry) {
    return std::tuple(entry.second.count, entry.second.sample->memory.value_or(Bytes{}).count);
  };
  // The first by name among equals.
  return std::ranges::max_element(models, {}, rank)->second;
}

void PutWholeGpus(const device::Snapshot& snapshot, const config::NodeConfig& config,
                  Labels& labels) {
  const ModelCount lead = LeadModel(snapshot);
  const ResourceLabels put(config::kDefaultResource, labels);
  const Sharing sharing = IsInMigMode(*lead.sample) ? Sharing{.replicas = 0}
                                                    : SharingOf(config, config::kDefaultResource);
  put.PutBase({lead.sample->name}, lead.count, sharing);
  if (lead.sample->memory) {
    put.Put("memory", lead.sample->memory->count >> 20);
  }
  if (const auto& compute = lead.sample->compute) {
    put.Put("family", GpuFamily(*compute));
    put.Put("compute.major", compute->major);
    put.Put("compute.minor", compute->minor);
  }
}

struct MigKind {
  const Gpu* gpu = nullptr;
  const MigDevice* sample = nullptr;
  size_t count = 0;
};

// MIG devices by the profile in the form used in names: "1g.10gb.me".
std::map<std::string, MigKind> MigKinds(const device::Snapshot& snapshot) {
  std::map<std::string, MigKind> kinds;
  for (const Gpu& gpu : snapshot.gpus) {
    for (const MigDevice& mig : gpu.mig_devices) {
      std::string name = mig.profile;
      std::ranges::replace(name, '+', '.');
      MigKind& kind = kinds[name];
      if (kind.count++ == 0) {
        kind.gpu = &gpu;
        kind.sample = &mig;
      }
    }
  }
  return kinds;
}

void PutMigKind(const ResourceLabels& put, std::string_view profile, const MigKind& kind,
                const Sharing& sharing) {
  put.PutBase({kind.gpu->name, "MIG", profile}, kind.count, sharing);
  const MigDevice& mig = *kind.sample;
  if (mig.memory) {
    put.Put("memory", mig.memory->count >> 20);
  }
  put.Put("multiprocessors", mig.multiprocessors);
  put.Put("slices.gi", mig.gpu_instance_slices);
  put.Put("slices.ci", mig.compute_instance_slices);
  put.Put("engines.copy", mig.engines.copy);
  put.Put("engines.decoder", mig.engines.decoder);
  put.Put("engines.encoder", mig.engines.encoder);
  put.Put("engines.jpeg", mig.engines.jpeg);
  put.Put("engines.ofa", mig.engines.ofa);
}

// Strategy single means that all are alike: anything else is reported as invalid, with a count of
// 0.
void PutSingle(const device::Snapshot& snapshot, const config::NodeConfig& config, Labels& labels) {
  const auto first = std::ranges::find_if(snapshot.gpus, &IsInMigMode);
  if (first == snapshot.gpus.end()) {
    return;
  }
  const ResourceLabels put(config::kDefaultResource, labels);
  const auto kinds = MigKinds(snapshot);
  const bool is_uniform = std::ranges::all_of(
      snapshot.gpus, [](const Gpu& gpu) { return IsInMigMode(gpu) && !gpu.mig_devices.empty(); });
  if (is_uniform && kinds.size() == 1) {
    const auto& [profile, kind] = *kinds.begin();
    PutMigKind(put, profile, kind, SharingOf(config, config::kDefaultResource));
    return;
  }
  put.Put("product", SanitizedValue(fmt::format("{}-MIG-INVALID", SanitizedValue(first->name))));
  put.Put("count", 0);
  put.Put("replicas", 0);
  put.Put("sharing-strategy", "");
  put.Put("memory", 0);
}

void PutMixed(const device::Snapshot& snapshot, const config::NodeConfig& config, Labels& labels) {
  for (const auto& [profile, kind] : MigKinds(snapshot)) {
    const std::string resource = config::ResourceOfMigProfile(profile);
    PutMigKind(ResourceLabels(resource, labels), profile, kind, SharingOf(config, resource));
  }
}

}  // namespace

void AddResourceLabels(const device::Snapshot& snapshot, const config::NodeConfig& config,
                       Labels& labels) {
  PutWholeGpus(snapshot, config, labels);
  switch (StrategyOf(config)) {
    case MigStrategy::kNone:
    case MigStrategy::kDynamic:
      break;
    case MigStrategy::kSingle:
      labels["nvidia.com/mig.strategy"] = "single";
      PutSingle(snapshot, config, labels);
      break;
    case MigStrategy::kMixed:
      labels["nvidia.com/mig.strategy"] = "mixed";
      PutMixed(snapshot, config, labels);
      break;
  }
}

}  // namespace kgpu::labels
