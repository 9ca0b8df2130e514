#include "src/node/labels/gpu_labels.h"

#include <boost/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "src/node/labels/gpu_names.h"
#include "src/node/labels/gpu_resource.h"
#include "src/node/labels/model_affinity.h"
#include "src/node/labels/nvlink_domains.h"
#include "src/node/sharing/kind.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"

namespace kgpu::labels {
namespace {

namespace json = boost::json;

using device::Gpu;
using Labels = std::map<std::string, std::string>;

constexpr std::string_view kPrefix = "nvidia.com/";
// The name of a label behind its slash.
constexpr size_t kMaxName = 63;

void Put(Labels& labels, std::string_view name, std::string value) {
  labels[fmt::format("{}{}", kPrefix, name)] = std::move(value);
}

std::string Flag(bool flag) {
  return flag ? "true" : "false";
}

void AddVersions(const device::Driver& driver, Labels& labels) {
  const std::vector<std::string_view> parts = Split(driver.version, '.');
  if (parts.size() >= 2 && parts.size() <= 3) {
    const std::string major(parts[0]);
    const std::string minor(parts[1]);
    const std::string revision(parts.size() > 2 ? parts[2] : "");
    Put(labels, "cuda.driver-version.full", SanitizedValue(driver.version));
    Put(labels, "cuda.driver-version.major", major);
    Put(labels, "cuda.driver-version.minor", minor);
    Put(labels, "cuda.driver-version.revision", revision);
    // The former names of these labels.
    Put(labels, "cuda.driver.major", major);
    Put(labels, "cuda.driver.minor", minor);
    Put(labels, "cuda.driver.rev", revision);
  }
  if (driver.cuda_major && driver.cuda_minor) {
    const std::string major = std::to_string(*driver.cuda_major);
    const std::string minor = std::to_string(*driver.cuda_minor);
    Put(labels, "cuda.runtime-version.full", fmt::format("{}.{}", major, minor));
    Put(labels, "cuda.runtime-version.major", major);
    Put(labels, "cuda.runtime-version.minor", minor);
    Put(labels, "cuda.runtime.major", major);
    Put(labels, "cuda.runtime.minor", minor);
  }
}

std::string_view ModeOf(const device::Snapshot& snapshot) {
  std::set<std::string_view> modes;
  for (const Gpu& gpu : snapshot.gpus) {
    modes.insert(GpuMode(gpu.pci_class));
  }
  return modes.size() == 1 ? *modes.begin() : "unknown";
}

std::string Clique(const device::FabricId& fabric) {
  return fmt::format("{}.{}", fabric.cluster_uuid, fabric.clique_id);
}

// The clique of all GPUs that are in a fabric; nothing if they are in several.
void AddClique(const device::Snapshot& snapshot, Labels& labels) {
  std::set<std::string> cliques;
  for (const Gpu& gpu : snapshot.gpus) {
    if (gpu.fabric) {
      cliques.insert(Clique(*gpu.fabric));
    }
  }
  if (cliques.size() == 1) {
    Put(labels, "gpu.clique", *cliques.begin());
  }
}

void AddVgpu(const std::optional<host::VgpuHost>& vgpu, Labels& labels) {
  Put(labels, "vgpu.present", Flag(vgpu.has_value()));
  if (vgpu) {
    Put(labels, "vgpu.host-driver-version", SanitizedValue(vgpu->driver_version));
    Put(labels, "vgpu.host-driver-branch", SanitizedValue(vgpu->driver_branch));
  }
}

// Adds labels for every model.
void AddModels(const device::Snapshot& snapshot, Labels& labels) {
  std::map<std::string, std::vector<const Gpu*>> models;
  for (const Gpu& gpu : snapshot.gpus) {
    models[gpu.model].push_back(&gpu);
  }
  for (const auto& [model, gpus] : models) {
    const Gpu& first = *gpus.front();
    const auto put = [&, head = fmt::format("{}{}", kModelLabelPrefix, model)](
                         std::string_view name, std::string value) {
      std::string key = fmt::format("{}.{}", head, name);
      if (key.size() - key.find('/') - 1 <= kMaxName) {
        labels[std::move(key)] = std::move(value);
      }
    };
    put("count", std::to_string(gpus.size()));
    if (first.memory) {
      put("memory", std::to_string(first.memory->count >> 20));
    }
    if (first.compute) {
      put("compute", fmt::format("{}.{}", first.compute->major, first.compute->minor));
      put("family", std::string(GpuFamily(*first.compute)));
    }
  }
}

json::object CardJson(const Gpu& gpu, unsigned nvlink_domain) {
  json::object card{{"uuid", gpu.uuid.str()}, {"pci", gpu.pci.str()}, {"model", gpu.model}};
  if (gpu.numa_node) {
    card["numa"] = *gpu.numa_node;
  }
  if (gpu.is_ecc_enabled) {
    card["ecc"] = *gpu.is_ecc_enabled;
  }
  card["nvlinkDomain"] = nvlink_domain;
  if (gpu.fabric) {
    card["clique"] = Clique(*gpu.fabric);
  }
  if (gpu.mig_mode && gpu.mig_mode->is_enabled) {
    json::array& migs = card["mig"].emplace_array();
    for (const device::MigDevice& mig : gpu.mig_devices) {
      migs.push_back({{"uuid", mig.uuid.str()}, {"profile", mig.profile}});
    }
  }
  return card;
}

std::string CardsJson(const device::Snapshot& snapshot) {
  const std::vector<unsigned> domains = NvLinkDomains(snapshot.gpus);
  json::array cards;
  for (size_t i = 0; i < snapshot.gpus.size(); ++i) {
    cards.push_back(CardJson(snapshot.gpus[i], domains[i]));
  }
  return doc::PrintLine(cards);
}

constexpr const char* kProductName = "sys/class/dmi/id/product_name";
constexpr size_t kDmiLimit = 4096;

}  // namespace

GpuHost ReadGpuHost(const sys::Root& host, const device::Snapshot& snapshot) {
  GpuHost found;
  // Virtual machines and Arm boards may have none.
  found.machine = host.ReadFile(kProductName, kDmiLimit).value_or("");
  std::vector<device::PciBusId> cards;
  cards.reserve(snapshot.gpus.size());
  for (const Gpu& gpu : snapshot.gpus) {
    cards.push_back(gpu.pci);
  }
  found.vgpu = host::FindVgpuHost(host, cards);
  return found;
}

NodeClaims GpuClaims(const device::Snapshot& snapshot, const config::NodeConfig& config,
                     const GpuHost& host) {
  NodeClaims claims;
  if (snapshot.gpus.empty() && snapshot.unmanaged.empty()) {
    return claims;
  }
  Labels& labels = claims.labels;
  Put(labels, "gpu.present", "true");
  const std::string machine = SanitizedValue(host.machine);
  Put(labels, "gpu.machine", machine.empty() ? "unknown" : machine);
  if (snapshot.gpus.empty()) {
    return claims;
  }
  AddVersions(snapshot.driver, labels);
  AddVgpu(host.vgpu, labels);
  Put(labels, "gpu.mode", std::string(ModeOf(snapshot)));
  Put(labels, "mig.capable", Flag(std::ranges::any_of(snapshot.gpus, [](const Gpu& gpu) {
        return gpu.mig_mode.has_value();
      })));
  for (const sharing::Kind* kind : sharing::Kinds()) {
    if (const std::string_view name = kind->traits().foreign.capability; !name.empty()) {
      Put(labels, fmt::format("{}.capable", name),
          Flag(std::ranges::any_of(
              config.pools, [kind](const config::Pool& pool) { return pool.share.by == kind; })));
    }
  }
  AddClique(snapshot, labels);
  AddResourceLabels(snapshot, config, labels);
  AddModels(snapshot, labels);
  claims.annotations[kGpusAnnotation] = CardsJson(snapshot);
  return claims;
}

}  // namespace kgpu::labels
