// An admin's settings for one node, validated. All defaults of the product are here.
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
#include "src/node/sharing/share.h"
#include "src/platform/base/status.h"
#include "src/platform/doc/doc.h"

namespace kgpu::config {

inline constexpr std::string_view kApiVersion = "kgpu.dev/v1";
inline constexpr std::string_view kNodeConfigKind = "NodeConfig";
inline constexpr std::string_view kDefaultResource = "nvidia.com/gpu";
// The name of local pools without one. Another domain, since no pod can request it.
inline constexpr std::string_view kDefaultLocalPool = "kgpu.dev/local";
// The same for memory slices: kgpu.dev/local-20gi.
inline constexpr std::string_view kDefaultLocalSlices = "kgpu.dev/local-{size}";
// The name of memory slices: nvidia.com/gpu-20gi.
inline constexpr std::string_view kDefaultSlices = "nvidia.com/gpu-{size}";
// Size limit of a file: that of a ConfigMap.
inline constexpr size_t kMaxConfigBytes = size_t{1} << 20;
// How a GPU in MIG mode is advertised. Source: NVIDIA's device plugin, migStrategy.
enum class MigStrategy {
  kNone,     // the whole GPU, MIG ignored
  kSingle,   // its MIG devices under the pool's own resource; they must be alike
  kMixed,    // its MIG devices as nvidia.com/mig-<profile>, whatever the pool's resource
  kDynamic,  // the whole GPU, and every MIG device that it could have: made for the claim
};

// How slots of shared devices are picked. Source: NVIDIA's sharedDevicesAllocationPolicy.
enum class SharedPolicy { kDistributed, kPacked };

// Who hands out the devices of a pool.
enum class Provider : uint8_t {
  kKubelet,  // the kubelet, to pods: the device plugin advertises them
  kClaims,   // the scheduler, to claims of DRA: ResourceSlices advertise them
  // The agent, to programs of this host: it lends whole GPUs or memory slices, and no kubelet
  // counts them.
  kLocal,
};

struct Pool {
  // Empty: kDefaultResource (kDefaultLocalPool for a local pool, kDefaultSlices for slots with
  // sizes, kDefaultLocalSlices for both), or nvidia.com/mig-<profile> for MIG devices that the
  // selector or the layout names. May contain "{model}", the canonical model id in a form that is
  // valid in a resource name, and for memory slices "{size}".
  std::string resource{};
  Selector devices{};
  std::optional<MigStrategy> mig{};  // nullopt: NodeConfig::mig
  // With kDynamic: MIG devices that belong to no claim are removed once nobody uses them.
  bool removes_unclaimed = false;
  sharing::Share share{};
  Provider provider = Provider::kKubelet;
  bool operator==(const Pool&) const = default;
};

// How containers get their devices. Several can be active together.
enum class DeviceListStrategy {
  kAuto,            // CDI if the runtime provably reads CDI, else kDeviceSpecs + kMounts
  kCdiCri,          // names in the CDIDevices field
  kCdiAnnotations,  // names in an annotation
  kEnvvar,          // NVIDIA_VISIBLE_DEVICES, for NVIDIA's runtime
  kVolumeMounts,    // mounts below /var/run/nvidia-container-devices, for NVIDIA's runtime
  kDeviceSpecs,     // device nodes
  kMounts,          // the driver's files as mounts: with kDeviceSpecs, no runtime support is needed
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

// Its defaults are next to the rules that it changes.
using HealthConfig = health::Settings;

struct HttpConfig {
  std::string address = "127.0.0.1:9401";  // "" switches it off; ":9401" is every address
  bool operator==(const HttpConfig&) const = default;
};

// Sets of series names.
enum class NameSet : uint8_t {
  kKgpu,  // kgpu_*, and the agent's own
  kDcgm,  // DCGM_FI_*, as in NVIDIA's DCGM exporter
  kGke,   // duty_cycle, memory_used, …, as in GKE's device plugin
};

// Listen addresses for pages of single name sets; nothing: the usual port on the host of
// http.address. "" switches a page off.
struct MetricsListen {
  std::optional<std::string> dcgm{};
  std::optional<std::string> gke{};
  bool operator==(const MetricsListen&) const = default;
};

// PEM files, by this process's paths; all empty: plain HTTP.
struct MetricsTls {
  std::string certificate{};
  std::string key{};
  std::string client_ca{};  // clients must present a certificate of it; empty: none needed
  bool operator==(const MetricsTls&) const = default;
};

// Who decides whether a token may read /metrics.
enum class TokenBy : uint8_t {
  kNobody,   // no token is needed
  kCluster,  // the API server: TokenReview, then SubjectAccessReview
  kFile,     // a file
};

struct MetricsAuth {
  TokenBy by = TokenBy::kNobody;
  std::string file{};                    // for kFile
  std::vector<std::string> audiences{};  // for kCluster; empty: the API server's own
  bool operator==(const MetricsAuth&) const = default;
};

// Labels of newer DCGM exporters, which older dashboards do not expect.
enum class DcgmLabel : uint8_t {
  kHostname,  // "hostname" instead of "Hostname"
  kPodUid,    // "pod_uid"
};

struct MetricsConfig {
  static constexpr std::chrono::milliseconds kUsualEvery{15'000};

  std::vector<NameSet> names = {NameSet::kKgpu};
  std::chrono::milliseconds every = kUsualEvery;  // how often to query the driver; 0: never
  // Series to leave out: names, in which "*" matches any letters.
  std::vector<std::string> exclude{};
  std::vector<DcgmLabel> dcgm_labels{};
  // For every TCP address, including http.address.
  MetricsListen listen{};
  MetricsTls tls{};
  MetricsAuth auth{};
  bool operator==(const MetricsConfig&) const = default;
};

// How much namespaces and pods have used the GPUs.
struct UsageConfig {
  bool enabled = true;
  std::chrono::days retention{35};  // older hours are deleted
  bool operator==(const UsageConfig&) const = default;
};

// Where labels are written.
enum class LabelOutput {
  kNode,         // the Node object
  kNodeFeature,  // a NodeFeature object, for an NFD master that labels the node
  kFile,         // a feature file, for an NFD worker on this node
};

struct LabelsConfig {
  bool features = true;  // the host's features, like Node Feature Discovery
  bool gpus = true;      // the GPUs' features, like GPU feature discovery
  std::vector<LabelOutput> outputs = {LabelOutput::kNode};
  // Paths below the host root. The feature file of LabelOutput::kFile:
  std::string file = "/etc/kubernetes/node-feature-discovery/features.d/kgpu";
  // Folders of rule files and of feature files that others write, and NFD's own configuration
  // files; each is read if it exists.
  std::vector<std::string> rules = {"/etc/kgpu/rules.d",
                                    "/etc/kubernetes/node-feature-discovery/custom.d"};
  std::string feature_files = "/etc/kubernetes/node-feature-discovery/features.d";
  std::string nfd_worker = "/etc/kubernetes/node-feature-discovery/nfd-worker.conf";
  std::string nfd_master = "/etc/kubernetes/node-feature-discovery/nfd-master.conf";
  bool rule_objects = true;                 // also use the cluster's NodeFeatureRule objects
  std::chrono::milliseconds every{60'000};  // how often to read the host again
  bool operator==(const LabelsConfig&) const = default;
};

// Keeps pods away from a node that is not proven healthy.
struct GateConfig {
  bool condition = true;  // GPUReady and GPUHealthy
  bool taint = false;     // kgpu.dev/not-ready:NoSchedule while the node is not ready
  bool operator==(const GateConfig&) const = default;
};

struct NodeConfig {
  std::vector<Selector> exclude;
  std::vector<Pool> pools;  // never empty once parsed: by default one pool of all devices
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

// The pool's `resource`, or its default; may contain the placeholder.
std::string_view ResourceOf(const Pool& pool);

// The configuration of a node without a configuration file.
NodeConfig DefaultNodeConfig();

// Parses a NodeConfig in YAML or JSON (by the suffix of `file`; any other is YAML). Empty text is
// the default configuration. Errors: InvalidArgument "file:line:column: field: value: fix", with
// the nearest key for an unknown one; all errors of the file, one per line, at most 20. Several
// pools may share one resource if their share settings are equal.
StatusOr<NodeConfig> ParseNodeConfig(std::string_view text, std::string_view file);

// A text that ParseNodeConfig reads back to the same value, including defaults.
std::string PrintNodeConfig(const NodeConfig& config, doc::Format format = doc::Format::kYaml);

}  // namespace kgpu::config
