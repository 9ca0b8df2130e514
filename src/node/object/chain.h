// The chain from the driver to a pod that can have a GPU: link by link, with what fixes the first
// thing that is wrong. Pure.
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
  kWaiting,  // not yet: nobody has to do anything
  kBad,      // will not come right by itself; the message says what fixes it
};

// "ok", "waiting", "bad".
std::string_view ToString(LinkState state);

struct Link {
  std::string name;
  LinkState state = LinkState::kWaiting;
  std::string reason{};   // CamelCase, of a closed list (docs/reference/gating.md); empty when ok
  std::string message{};  // for people; says the fix of what is bad
  bool operator==(const Link&) const = default;
};

// Resource name → quantity, as the Node object has them ("8", "64Mi").
using Quantities = std::map<std::string, std::string>;

// One resource of ours on the kubelet.
struct ResourceFact {
  std::string name;
  uint64_t allocatable = 0;  // healthy slots: what the kubelet is to count
  bool is_registered = false;
  std::string problem{};  // why it is not registered, with the fix
  bool operator==(const ResourceFact&) const = default;
};

// All that the chain is judged by. The agent fills it from its own state.
struct ChainFacts {
  std::optional<size_t> gpus{};  // NVIDIA GPUs on the PCI bus; nothing: not looked yet
  device::DriverState driver = device::DriverState::kStarting;
  std::string driver_version{};
  std::string driver_problem{};  // with the fix; empty when ready
  // GPUs of which a handle, opened through the driver's library, has answered since the library
  // was loaded; and why the others did not.
  size_t handles = 0;
  std::string handle_problem{};
  // The container runtime: known, and given a way by which containers get GPUs.
  bool is_runtime_known = false;
  std::string runtime_way{};      // "CDI by the plugin's reply"
  std::string runtime_problem{};  // with the fix
  bool is_cdi_used = true;
  bool is_cdi_written = false;  // specs of this driver are in force
  std::string cdi_problem{};
  bool has_resources = false;  // the configuration was applied to an answer of the driver
  std::vector<ResourceFact> resources{};
  // Who serves GPUs to the kubelet in our place ("NVIDIA's device plugin"); empty: we do.
  std::string plugin_owner{};
  // status.allocatable of the Node object; nothing: the API server has not answered yet, or is not
  // asked.
  std::optional<Quantities> allocatable{};
  bool operator==(const ChainFacts&) const = default;
};

struct Chain {
  bool has_gpus = true;     // false: links is empty, there is nothing to gate
  std::vector<Link> links;  // driver, runtime, cdi, plugin, kubelet, handle
  bool operator==(const Chain&) const = default;
};

Chain CheckChain(const ChainFacts& facts);

// The first link that is not ok; null when all are.
const Link* FirstWrong(const Chain& chain);
// kOk when every link is; kBad when one is bad.
LinkState Worst(const Chain& chain);

// The GPUReady condition without its time.
struct ConditionText {
  bool is_true = false;
  std::string reason;
  std::string message;
  bool operator==(const ConditionText&) const = default;
};

// What is wrong with a link, in one line: "cdi: disk full". What is said of the driver names it.
std::string ProblemOf(const Link& link);

// True/AllVerified; else False with reason and message of the first thing wrong, or NoGpu.
ConditionText ConditionOf(const Chain& chain);

}  // namespace kgpu::node
