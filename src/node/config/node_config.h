// What an admin wants of one node, validated. Every default of the product stands here, once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/health/settings.h"
#include "src/node/config/selector.h"
#include "src/platform/base/status.h"
#include "src/platform/doc/doc.h"

namespace kgpu::config {

inline constexpr std::string_view kApiVersion = "kgpu.dev/v1";
inline constexpr std::string_view kNodeConfigKind = "NodeConfig";
inline constexpr std::string_view kDefaultResource = "nvidia.com/gpu";
// Of a file: as much as a ConfigMap holds.
inline constexpr size_t kMaxConfigBytes = size_t{1} << 20;
// Slots of one device.
inline constexpr unsigned kMaxReplicas = 1'024;

// How a GPU in MIG mode is advertised. Source: NVIDIA's device plugin, migStrategy.
enum class MigStrategy {
  kNone,    // the whole GPU, MIG ignored
  kSingle,  // its MIG devices under the pool's own resource; all of the pool's must be alike
  kMixed,   // its MIG devices as nvidia.com/mig-<profile>, whatever the pool's resource
};

enum class ShareBy { kNothing, kTime };

// What a container that asks for several slots of a shared resource gets.
enum class MultipleSlots { kAllow, kRefuse };

struct Share {
  ShareBy by = ShareBy::kNothing;
  unsigned replicas = 1;  // slots of each device; 2 or more with kTime
  MultipleSlots multiple = MultipleSlots::kAllow;
  bool operator==(const Share&) const = default;
};

// How slots of shared devices are picked. Source: NVIDIA's sharedDevicesAllocationPolicy.
enum class SharedPolicy { kDistributed, kPacked };

struct Pool {
  // Empty: kDefaultResource, for MIG devices that the selector names nvidia.com/mig-<profile>. May
  // hold "{model}": the canonical model id as it may stand in a resource name.
  std::string resource{};
  Selector devices{};
  std::optional<MigStrategy> mig{};  // nullopt: NodeConfig::mig
  Share share{};
  bool operator==(const Pool&) const = default;
};

// How containers get their devices. Several may be active together.
enum class DeviceListStrategy {
  kAuto,            // CDI where the runtime proves that it reads CDI, else kDeviceSpecs + kMounts
  kCdiCri,          // names in the CDIDevices field
  kCdiAnnotations,  // names in an annotation
  kEnvvar,          // NVIDIA_VISIBLE_DEVICES, for NVIDIA's runtime
  kVolumeMounts,    // mounts below /var/run/nvidia-container-devices, for NVIDIA's runtime
  kDeviceSpecs,     // device nodes
  kMounts,          // the driver's files as mounts: with kDeviceSpecs no runtime support is needed
};

enum class DeviceIdStrategy { kUuid, kIndex };  // in NVIDIA_VISIBLE_DEVICES

enum class Registration {
  kKubeletSocket,  // Register on device-plugins/kubelet.sock
  kPluginWatcher,  // a socket in plugins_registry/
};

struct PluginConfig {
  std::vector<DeviceListStrategy> strategies = {DeviceListStrategy::kAuto};
  DeviceIdStrategy device_ids = DeviceIdStrategy::kUuid;
  SharedPolicy shared_policy = SharedPolicy::kDistributed;
  Registration registration = Registration::kKubeletSocket;
  std::string cdi_annotation_prefix = "cdi.k8s.io/";
  std::string capabilities = "compute,utility";  // of device specs, mounts and CDI specs
  bool operator==(const PluginConfig&) const = default;
};

// Its defaults stand with the rules that it changes.
using HealthConfig = health::Settings;

struct HttpConfig {
  std::string address = "127.0.0.1:9401";  // "" switches it off; ":9401" is every address
  bool operator==(const HttpConfig&) const = default;
};

// Series by whose names they are known.
enum class NameSet : uint8_t {
  kKgpu,  // kgpu_*, and the agent's own
  kDcgm,  // DCGM_FI_*, as NVIDIA's DCGM exporter names them
  kGke,   // duty_cycle, memory_used, …, as GKE's device plugin names them
};

// Where name sets have pages of their own; nothing: the usual port at the host of http.address. ""
// switches one off.
struct MetricsListen {
  std::optional<std::string> dcgm{};
  std::optional<std::string> gke{};
  bool operator==(const MetricsListen&) const = default;
};

// PEM files, as this process sees them; all empty: plain HTTP.
struct MetricsTls {
  std::string certificate{};
  std::string key{};
  std::string client_ca{};  // clients must show a certificate of it; empty: they need none
  bool operator==(const MetricsTls&) const = default;
};

// By whose word a token is let through to /metrics.
enum class TokenBy : uint8_t {
  kNobody,   // no token is needed
  kCluster,  // the API server's: TokenReview, then SubjectAccessReview
  kFile,     // a file's
};

struct MetricsAuth {
  TokenBy by = TokenBy::kNobody;
  std::string file{};                    // of kFile
  std::vector<std::string> audiences{};  // of kCluster; empty: the API server's own
  bool operator==(const MetricsAuth&) const = default;
};

// Labels of newer DCGM exporters that older dashboards do not expect.
enum class DcgmLabel : uint8_t {
  kHostname,  // "hostname" instead of "Hostname"
  kPodUid,    // "pod_uid"
};

struct MetricsConfig {
  std::vector<NameSet> names = {NameSet::kKgpu};
  std::chrono::milliseconds every{15'000};  // how often the driver is asked; 0: never
  // Series that are left out: names, where "*" stands for any letters.
  std::vector<std::string> exclude{};
  std::vector<DcgmLabel> dcgm_labels{};
  // Of every TCP address, http.address too.
  MetricsListen listen{};
  MetricsTls tls{};
  MetricsAuth auth{};
  bool operator==(const MetricsConfig&) const = default;
};

// What namespaces and pods have had of the GPUs.
struct UsageConfig {
  bool enabled = true;
  std::chrono::days retention{35};  // older hours are forgotten
  bool operator==(const UsageConfig&) const = default;
};

// Where labels go.
enum class LabelOutput {
  kNode,         // the Node object
  kNodeFeature,  // a NodeFeature object, for an NFD master that labels the node
  kFile,         // a feature file, for an NFD worker on this node
};

struct LabelsConfig {
  bool features = true;  // what the host is, as Node Feature Discovery tells it
  bool gpus = true;      // what its GPUs are, as GPU feature discovery tells it
  std::vector<LabelOutput> outputs = {LabelOutput::kNode};
  // Paths below the host root. The feature file of LabelOutput::kFile:
  std::string file = "/etc/kubernetes/node-feature-discovery/features.d/kgpu";
  // Folders of rule files, of feature files that others write, and NFD's own configuration files,
  // each read where it is there.
  std::vector<std::string> rules = {"/etc/kgpu/rules.d",
                                    "/etc/kubernetes/node-feature-discovery/custom.d"};
  std::string feature_files = "/etc/kubernetes/node-feature-discovery/features.d";
  std::string nfd_worker = "/etc/kubernetes/node-feature-discovery/nfd-worker.conf";
  std::string nfd_master = "/etc/kubernetes/node-feature-discovery/nfd-master.conf";
  bool rule_objects = true;                 // NodeFeatureRule objects of the cluster count too
  std::chrono::milliseconds every{60'000};  // how often the host is looked at again
  bool operator==(const LabelsConfig&) const = default;
};

// What keeps pods away from a node that is not proven good.
struct GateConfig {
  bool condition = true;  // GPUReady and GPUHealthy
  bool taint = false;     // kgpu.dev/not-ready:NoSchedule while it is not
  bool operator==(const GateConfig&) const = default;
};

struct NodeConfig {
  std::vector<Selector> exclude;
  std::vector<Pool> pools;  // never empty once parsed: one pool of everything by default
  MigStrategy mig = MigStrategy::kNone;
  PluginConfig plugin;
  HealthConfig health;
  HttpConfig http;
  MetricsConfig metrics;
  UsageConfig usage;
  LabelsConfig labels;
  GateConfig gate;
  bool operator==(const NodeConfig&) const = default;
};

// What a node without a configuration file does.
NodeConfig DefaultNodeConfig();

// A NodeConfig in YAML or JSON (by the ending of `file`; any other is YAML). Empty text is the
// default configuration. Errors: InvalidArgument "file:line:column: field: value: fix", with the
// nearest key for an unknown one; every error of the file, one a line, at most 20. Pools may feed
// one resource together when their share settings are equal.
StatusOr<NodeConfig> ParseNodeConfig(std::string_view text, std::string_view file);

// A text that ParseNodeConfig reads back to the same value, defaults included.
std::string PrintNodeConfig(const NodeConfig& config, doc::Format format = doc::Format::kYaml);

}  // namespace kgpu::config
