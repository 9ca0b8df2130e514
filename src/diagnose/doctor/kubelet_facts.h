// What the doctor knows of the kubelet of this host, of the device plugins beside it, and of what
// agent and cluster say of this node.
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
  kUnknown,  // may not be looked at
  kAbsent,   // no socket is there
  kSilent,   // a socket is there and nobody answers
  kAnswers,
};

// A gate or a flag that somebody has set, and where.
struct KubeletSetting {
  std::string name;   // "DevicePlugins", "--container-runtime"
  bool is_on = true;  // of a gate
  std::string path;   // of the file; empty: only on the command line of the process
  bool operator==(const KubeletSetting&) const = default;
};

// A file that carries gates or flags.
struct KubeletFile {
  std::string text;
  bool is_config = false;  // a KubeletConfiguration; else a file of flags
};

// Flags that a distribution's own file hands on to the kubelet inside it.
struct HandedFlags {
  std::string path;
  std::string flags;  // as on a command line
};
// Of k3s, RKE2 and microk8s.
std::vector<HandedFlags> ReadHandedFlags(host::Sight& sight);

struct PluginSocket {
  std::string name;  // "nvidia-gpu.sock"
  SocketState state = SocketState::kUnknown;
};

struct KubeletFacts {
  std::optional<host::Daemon> daemon;  // runs; of k3s and the like the process that contains it
  std::string program;                 // empty: not found
  std::optional<engine::Version> version;
  std::string version_reason;  // why it is not known
  std::string root;            // --root-dir
  std::string config_path;     // "/var/lib/kubelet/config.yaml", where it is there
  std::string config_problem;
  std::string cgroup_driver;               // empty: it does not say
  std::string engine_endpoint;             // "unix:///run/containerd/containerd.sock"; or empty
  bool is_config_newer = false;            // than the process
  std::optional<bool> fails_on_cgroup_v1;  // as configured; nothing: by its version
  std::vector<KubeletSetting> gates;
  std::vector<KubeletSetting> flags;  // those that some version no longer takes
  std::map<std::string, KubeletFile> files;
  std::vector<HandedFlags> handed;
  SocketState registration = SocketState::kUnknown;
  SocketState pod_resources = SocketState::kUnknown;
  std::optional<bool> has_plugins_registry;  // nothing: may not be looked at
  std::vector<PluginSocket> plugins;         // of NVIDIA GPUs
  bool has_claims_driver = false;            // one of dynamic resource allocation, for GPUs
  std::optional<DeviceCheckpoint> checkpoint;
  std::vector<host::Daemon> agents;  // processes `kgpu agent`

  bool is_here() const { return daemon || !config_path.empty(); }
  // It does not start on a host with cgroup v1: Kubernetes 1.35 and later, where nobody says no.
  bool refuses_cgroup_v1() const {
    return fails_on_cgroup_v1.value_or(version && version->minor >= 35);
  }
};
KubeletFacts ReadKubeletFacts(host::Sight& sight, sys::ProgramRunner& runner);

// Whose programs run here, in containers too, or have left files: by owner, what tells. Without
// the pods of the cluster, which know more.
std::map<node::Owner, std::vector<std::string>> ReadOwnerMarks(host::Sight& sight);

// What the agent of this node says of itself.
struct AgentFacts {
  struct Resource {
    std::string name;
    uint64_t capacity = 0;
    uint64_t allocatable = 0;
    std::string state;   // "Registered", …
    std::string reason;  // why not registered
  };
  bool is_ready = false;
  std::string obstacle;
  std::vector<Resource> resources;
  std::set<std::string> devices;       // uuids, each once
  std::vector<std::string> unhealthy;  // "GPU-… reason: message"
  size_t unassigned = 0;               // devices that the configuration hands to nobody
  std::string plugin_owner;            // whom it leaves the GPUs to; empty: nobody
};
// Of the agent's status as JSON. Errors: InvalidArgument.
StatusOr<AgentFacts> ParseAgentStatus(std::string_view text);

struct Toleration {
  std::string key;
  std::string op;  // Exists, Equal; empty: Equal
  std::string value;
  std::string effect;
};
// Whether a pod with these is let onto a node with that taint. Source: kubernetes.io, "Taints and
// Tolerations".
bool Tolerates(const std::vector<Toleration>& tolerations, const labels::Taint& taint);

struct AgentSet {
  std::string name;  // "kgpu/kgpu-agent"
  std::vector<Toleration> tolerations;
};
// The DaemonSets of a list that run our agent.
std::vector<AgentSet> ReadAgentSets(const boost::json::value& list);

// What the API server says of this node.
struct ClusterFacts {
  node::SeenNode node;
  std::optional<std::vector<node::SeenPod>> pods;  // of other owners
  std::optional<std::vector<AgentSet>> agent_sets;
};

// What others were asked, by whoever can ask; the reason where they did not answer.
struct Heard {
  std::optional<AgentFacts> agent;
  std::optional<ClusterFacts> cluster;
  std::optional<DriverAnswer> driver;  // absent: it was not asked
  std::vector<std::string> unanswered;
};

}  // namespace kgpu::doctor
