// What the doctor knows about this host's kubelet, the device plugins beside it, and what agent and
// cluster report about this node.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/container/engine/engine.h"
#include "src/diagnose/doctor/driver_answer.h"
#include "src/diagnose/doctor/kubelet_text.h"
#include "src/host/facts/daemons.h"
#include "src/host/facts/sight.h"
#include "src/node/object/owners.h"
#include "src/node/object/seen_node.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/run.h"

namespace kgpu::doctor {

enum class SocketState : uint8_t {
  kUnknown,  // unreadable
  kAbsent,   // there is no socket
  kSilent,   // there is a socket, but nobody answers
  kAnswers,
};

// A gate or flag that somebody has set, and where.
struct KubeletSetting {
  std::string name;   // "DevicePlugins", "--container-runtime"
  bool is_on = true;  // of a gate
  std::string path;   // the file; empty: only on the process's command line
  bool operator==(const KubeletSetting&) const = default;
};

// A file with gates or flags.
struct KubeletFile {
  std::string text;
  bool is_config = false;  // a KubeletConfiguration; else a file of flags
};

// Flags that a distribution's own file passes on to its built-in kubelet.
struct HandedFlags {
  std::string path;
  std::string flags;  // as on a command line
};
// For k3s, RKE2 and microk8s.
std::vector<HandedFlags> ReadHandedFlags(host::Sight& sight);

struct PluginSocket {
  std::string name;  // "nvidia-gpu.sock"
  SocketState state = SocketState::kUnknown;
};

struct KubeletFacts {
  std::optional<host::Daemon> daemon;  // if it runs; for k3s and the like, the process around it
  std::string program;                 // empty: not found
  std::optional<engine::Version> version;
  std::string version_reason;  // why it is unknown
  std::string root;            // --root-dir
  std::string config_path;     // "/var/lib/kubelet/config.yaml", where it is there
  std::string config_problem;
  std::string cgroup_driver;               // empty: not set
  std::string engine_endpoint;             // "unix:///run/containerd/containerd.sock"; or empty
  bool is_config_newer = false;            // than the process
  std::optional<bool> fails_on_cgroup_v1;  // as configured; nothing: depends on its version
  std::vector<KubeletSetting> gates;
  std::vector<KubeletSetting> flags;  // those that some version no longer accepts
  std::map<std::string, KubeletFile> files;
  std::vector<HandedFlags> handed;
  SocketState registration = SocketState::kUnknown;
  SocketState pod_resources = SocketState::kUnknown;
  std::optional<bool> has_plugins_registry;  // nothing: unreadable
  std::vector<PluginSocket> plugins;         // of NVIDIA GPUs
  bool has_claims_driver = false;            // a DRA driver for GPUs
  std::optional<DeviceCheckpoint> checkpoint;
  std::vector<host::Daemon> agents;  // processes `kgpu agent`

  bool is_here() const { return daemon || !config_path.empty(); }
  // It does not start on a host with cgroup v1: Kubernetes 1.35 and later, unless allowed.
  bool refuses_cgroup_v1() const {
    return fails_on_cgroup_v1.value_or(version && version->minor >= 35);
  }
};
KubeletFacts ReadKubeletFacts(host::Sight& sight, sys::ProgramRunner& runner);

// Owners whose programs run here, also in containers, or that have left files, with the evidence.
// Without the cluster's pods, which tell more.
std::map<node::Owner, std::vector<std::string>> ReadOwnerMarks(host::Sight& sight);

// What this node's agent reports about itself.
struct AgentFacts {
  struct Resource {
    std::string name;
    uint64_t capacity = 0;
    uint64_t allocatable = 0;
    std::string state;   // "Registered", …
    std::string reason;  // why it is not registered
  };
  struct Fault {
    std::string gpu;   // its UUID
    std::string rule;  // "ThermalSlowdown"
    std::string text;
    bool is_unhealthy = false;  // its devices are held back
  };
  bool is_ready = false;
  std::string obstacle;
  std::vector<Resource> resources;
  std::set<std::string> devices;       // uuids, without duplicates
  std::vector<std::string> unhealthy;  // "GPU-… reason: message"
  std::vector<Fault> faults;           // open ones, warnings included
  size_t unassigned = 0;               // devices that the configuration does not allocate
  std::string plugin_owner;            // to whom it leaves the GPUs; empty: nobody
};
// From the agent's status as JSON. Errors: InvalidArgument.
StatusOr<AgentFacts> ParseAgentStatus(std::string_view text);

// Sets `faults` from the agent's health as JSON. Errors: InvalidArgument.
Status ReadAgentHealth(std::string_view text, AgentFacts& facts);

struct Toleration {
  std::string key;
  std::string op;  // Exists, Equal; empty: Equal
  std::string value;
  std::string effect;
};
// Whether a pod with these tolerations is admitted to a node with that taint. Source:
// kubernetes.io, "Taints and Tolerations".
bool Tolerates(const std::vector<Toleration>& tolerations, const labels::Taint& taint);

struct AgentSet {
  std::string name;  // "kgpu/kgpu-agent"
  std::vector<Toleration> tolerations;
};
// The DaemonSets of a list that run our agent.
std::vector<AgentSet> ReadAgentSets(const boost::json::value& list);

// What the API server reports about this node.
struct ClusterFacts {
  node::SeenNode node;
  std::optional<std::vector<node::SeenPod>> pods;  // of other owners
  std::optional<std::vector<AgentSet>> agent_sets;
};

// Answers from others; the reason if they did not answer.
struct Heard {
  std::optional<AgentFacts> agent;
  std::optional<ClusterFacts> cluster;
  std::optional<DriverAnswer> driver;  // absent: not asked
  std::vector<std::string> unanswered;
};

}  // namespace kgpu::doctor
