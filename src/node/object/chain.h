// The chain from the driver to a pod that can have a GPU: checks link by link, and says how to fix
// the first problem. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/snapshot.h"

namespace kgpu::node {

enum class LinkState : uint8_t {
  kOk,
  kWaiting,  // not ready yet, but nobody needs to act
  kBad,      // does not recover by itself; the message has the fix
};

// "ok", "waiting", "bad".
std::string_view ToString(LinkState state);

struct Link {
  std::string name;
  LinkState state = LinkState::kWaiting;
  std::string reason{};   // CamelCase, from a fixed list (docs/reference/gating.md); empty if ok
  std::string message{};  // for people; has the fix if the state is kBad
  bool operator==(const Link&) const = default;
};

// Resource name → quantity, as in the Node object ("8", "64Mi").
using Quantities = std::map<std::string, std::string>;

// One of our resources on the kubelet.
struct ResourceFact {
  std::string name;
  // Slots, healthy or not. Without any, the resource is not registered with the kubelet: its pool
  // selects nothing of this node, or its devices change once nobody uses them.
  size_t devices = 0;
  uint64_t allocatable = 0;  // healthy slots: what the kubelet should count
  bool is_registered = false;
  bool by_claims = false;  // the scheduler counts its devices, and the kubelet does not
  std::string problem{};   // why it is not registered, with the fix
  std::string fault{};     // of the first slot that is unhealthy; empty: all are healthy
  bool operator==(const ResourceFact&) const = default;
};

// Everything needed to judge the chain. The agent fills it in from its own state.
struct ChainFacts {
  std::optional<size_t> gpus{};  // NVIDIA GPUs on the PCI bus; nothing: not read yet
  device::DriverState driver = device::DriverState::kStarting;
  std::string driver_version{};
  std::string driver_problem{};  // with the fix; empty if ready
  // The number of GPUs whose handle, opened through the driver's library, has answered since the
  // library was loaded; and why the others did not.
  size_t handles = 0;
  std::string handle_problem{};
  // The container runtime: known, and there is a way to pass GPUs to containers.
  bool is_runtime_known = false;
  std::string runtime_way{};      // "CDI by the plugin's reply"
  std::string runtime_problem{};  // with the fix
  bool is_cdi_used = true;
  bool is_cdi_written = false;  // specs for this driver are in place
  std::string cdi_problem{};
  bool has_resources = false;  // the configuration was applied to the driver's answer
  std::vector<ResourceFact> resources{};
  size_t local_gpus = 0;  // in pools that lend them to programs of the host
  // Devices that no pod can get until those who use them now have ended: they change then.
  size_t changing = 0;
  // Who serves GPUs to the kubelet instead of us ("NVIDIA's device plugin"); empty: we do.
  std::string plugin_owner{};
  // status.allocatable of the Node object; nothing: the API server has not answered yet, or is not
  // used.
  std::optional<Quantities> allocatable{};
  bool operator==(const ChainFacts&) const = default;
};

struct Chain {
  bool has_gpus = true;     // false: links is empty, there is nothing to gate
  std::vector<Link> links;  // driver, runtime, cdi, plugin, kubelet, handle
  bool operator==(const Chain&) const = default;
};

Chain CheckChain(const ChainFacts& facts);

// The first link that is not ok; null if all are ok.
const Link* FirstWrong(const Chain& chain);
// kOk if every link is ok; kBad if one is bad.
LinkState Worst(const Chain& chain);

// The GPUReady condition without its time.
struct ConditionText {
  bool is_true = false;
  std::string reason;
  std::string message;
  bool operator==(const ConditionText&) const = default;
};

// What is wrong with a link, in one line: "cdi: disk full". Problems of the driver name it already.
std::string ProblemOf(const Link& link);

// True/AllVerified; else False with reason and message of the first problem, or NoGpu.
ConditionText ConditionOf(const Chain& chain);

}  // namespace kgpu::node
