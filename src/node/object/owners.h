// Exactly one owner: who else labels this node or serves its GPUs, and where kgpu stands back. Pure
// functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/object/seen_node.h"
#include "src/platform/base/status.h"

namespace kgpu::node {

enum class Owner : uint8_t {
  kNfd,       // Node Feature Discovery: feature.node.kubernetes.io/…
  kGfd,       // GPU feature discovery: nvidia.com/… labels
  kPlugin,    // NVIDIA's device plugin: nvidia.com/… resources on the kubelet
  kOperator,  // the GPU operator, which runs the others
};

// "nfd", "gfd", "plugin", "operator".
std::string_view ToString(Owner owner);
// "Node Feature Discovery", …
std::string_view TitleOf(Owner owner);
// nfd, gfd or plugin. Errors: InvalidArgument naming the three.
StatusOr<Owner> ParseOwner(std::string_view text);

// The decisions of `kgpu node adopt` and `kgpu node release`, on the Node object: "gfd,nfd".
inline constexpr std::string_view kAdoptedAnnotation = "kgpu.dev/adopted";
inline constexpr std::string_view kReleasedAnnotation = "kgpu.dev/released";
std::set<Owner> OwnersIn(const SeenNode& node, std::string_view annotation);
std::string OwnersText(const std::set<Owner>& owners);

// The parts of a pod that identify its owner.
struct SeenPod {
  std::string name_space{};
  std::string name{};
  std::map<std::string, std::string> labels{};
  std::vector<std::string> images{};
  std::vector<std::string> containers{};
  std::string daemon_set{};  // that created it; may be empty
  bool operator==(const SeenPod&) const = default;
};

SeenPod ReadPod(const boost::json::value& pod);
// Which owner the pod belongs to; nothing for all other pods.
std::optional<Owner> OwnerOfPod(const SeenPod& pod);

struct Evidence {
  const SeenNode* node = nullptr;  // null: the API server has not answered
  // The pods of this node that OwnerOfPod recognises; nothing: they could not be listed.
  std::optional<std::vector<SeenPod>> pods{};
  // Sockets in the kubelet's device-plugins/ that are not ours: "nvidia-gpu.sock".
  std::vector<std::string> sockets{};
  bool has_gfd_file = false;  // in NFD's features.d
};

struct OwnerFound {
  Owner owner = Owner::kNfd;
  // It runs here; false: only its leftovers are here.
  bool is_running = false;
  // Its labels are already kgpu's: it came later, and whoever came first stays.
  bool came_later = false;
  std::vector<std::string> marks{};  // what tells: "pod gpu-operator/nfd-worker-x", …
  std::string removal{};             // the command that removes it
  bool operator==(const OwnerFound&) const = default;
};

struct Owners {
  std::vector<OwnerFound> found{};  // by owner
  std::set<Owner> adopted{};        // kgpu was told to take over
  std::set<Owner> released{};       // kgpu was told to stand back, whoever runs
  bool operator==(const Owners&) const = default;
  const OwnerFound* Find(Owner owner) const;
  // kgpu was told to; or the owner runs, was here first, and kgpu was not told to take over.
  bool StandsBackFor(Owner owner) const;
};

Owners FindOwners(const Evidence& evidence);
// Whether anything besides pods points to another owner: only then are pods listed.
bool HasMarks(const Evidence& evidence);

// The owner of labels like `key` where it runs; nothing: only ours.
std::optional<Owner> DomainOf(std::string_view key);

}  // namespace kgpu::node
