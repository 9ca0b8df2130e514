// A cluster as a takeover sees it: nodes, pods, and the software that serves GPUs.
#pragma once

#include <boost/json/value.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/cluster/adopt/carry.h"
#include "src/cluster/adopt/component.h"
#include "src/kube/api/client.h"
#include "src/platform/base/status.h"

namespace kgpu::adopt {

inline constexpr std::string_view kAgentName = "kgpu-agent";
// A ConfigMap in kgpu's namespace: the key says whether a takeover installed kgpu.
inline constexpr std::string_view kStateName = "kgpu-adopt";
inline constexpr std::string_view kInstalledKey = "installed";

struct SeenNode {
  std::string name{};
  std::string version{};  // metadata.resourceVersion
  std::map<std::string, std::string> labels{};
  std::map<std::string, std::string> annotations{};
  std::map<std::string, int64_t> gpus{};  // allocatable nvidia.com/… resources
  bool is_ready = false;                  // GPUReady is True
  std::string problem{};                  // its reason and message otherwise
  bool operator==(const SeenNode&) const = default;
};

struct SeenPod {
  std::string space{};
  std::string name{};
  std::string uid{};
  std::string node{};
  std::string daemon_set{};  // that made it; may be empty
  bool is_running = false;
  bool is_ready = false;
  bool has_gpus = false;           // requests nvidia.com/…
  std::vector<std::string> ids{};  // "main=containerd://…" of its running containers
  bool operator==(const SeenPod&) const = default;
};

SeenNode ReadNode(const boost::json::value& node);
SeenPod ReadPod(const boost::json::value& pod);
bool IsGpuNode(const SeenNode& node);

struct World {
  std::vector<Workload> workloads{};
  std::vector<SeenNode> nodes{};  // by name
  std::vector<SeenPod> pods{};    // with GPUs, or of a workload
  Foreign foreign{};
  bool has_agent = false;  // the DaemonSet kgpu-agent exists
  // An earlier takeover installed it, and installs it again with the settings that are kept.
  bool is_agent_ours = false;
  std::vector<std::string> unreadable{};
};

// Sends a request and waits for the response. Errors: those of kube::Client::Send.
using Ask = std::function<StatusOr<boost::json::value>(kube::ApiRequest)>;

// Errors: the server is unreachable, or forbids to list nodes, pods or DaemonSets.
StatusOr<World> ReadWorld(const Ask& ask, std::string_view space);

// Pods on the node, of every kind. Errors: those of `ask`.
StatusOr<std::vector<SeenPod>> ReadPodsOf(const Ask& ask, const std::string& node);
// All items of a collection, in chunks. Errors: those of `ask`.
StatusOr<std::vector<boost::json::value>> ListAll(const Ask& ask, const std::string& path,
                                                  const std::string& field_selector = "");

}  // namespace kgpu::adopt
