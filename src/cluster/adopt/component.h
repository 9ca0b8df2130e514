// Software that kgpu replaces or works beside, and how it is recognised in a cluster.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::adopt {

enum class Component : uint8_t {
  kPlugin,          // NVIDIA's device plugin
  kGfd,             // GPU feature discovery
  kExporter,        // DCGM exporter
  kNfdWorker,       // Node Feature Discovery on a node
  kNfdMaster,       // its master, garbage collector and topology updater
  kOperator,        // the GPU operator itself
  kDriver,          // its driver container
  kToolkit,         // its container toolkit
  kValidator,       // its validator
  kHostEngine,      // DCGM as a daemon of its own
  kStatusExporter,  // its node status exporter
  kMigManager,
  kMps,      // MPS control daemon
  kSandbox,  // vGPU manager, VFIO, Kata, sandbox device plugin
  kDra,      // NVIDIA's DRA driver
  kGkePlugin,
};

// What becomes of it on a node that kgpu takes over.
enum class Fate : uint8_t {
  kReplaced,
  kStays,
  kRefused,  // kgpu cannot do its job: nodes that use it are left alone
};

struct ComponentFacts {
  Component component;
  std::string_view id;     // "device-plugin", for --output json
  std::string_view title;  // "NVIDIA's device plugin"
  Fate fate;
  std::string_view by;  // what replaces it, or why it stays
  // The node label of the GPU operator that schedules it, without nvidia.com/gpu.deploy.; empty:
  // there is none.
  std::string_view deploy;
};

std::span<const ComponentFacts> AllComponents();
const ComponentFacts& FactsOf(Component component);
std::string_view ToString(Fate fate);  // "replaced", "stays", "refused"

// Who installed it, and so who must remove it.
enum class InstalledBy : uint8_t { kManifest, kHelm, kOlm, kGpuOperator };

// A DaemonSet or Deployment that belongs to a component.
struct Workload {
  Component component = Component::kPlugin;
  std::string kind{};   // "DaemonSet", "Deployment"
  std::string space{};  // namespace
  std::string name{};
  std::string version{};  // "v0.17.1"; empty: the image has no tag
  InstalledBy by = InstalledBy::kManifest;
  std::string release{};        // of Helm; the ClusterServiceVersion of OLM
  std::string release_space{};  // of Helm
  std::string reconciler{};     // "Argo CD", "Flux": would undo a change of the object
  std::map<std::string, std::string> selector{};  // labels of its pods
  bool operator==(const Workload&) const = default;
};

// What `object` of `kind` is; nothing if it is none of the above.
std::optional<Workload> ReadWorkload(const boost::json::value& object, std::string_view kind);

// The version in an image: "v0.17.1" of "nvcr.io/nvidia/k8s-device-plugin:v0.17.1@sha256:…".
std::string VersionOfImage(std::string_view image);

}  // namespace kgpu::adopt
