// The ways to share a device between containers. Each is a Kind in a folder of its own, with all of
// its rules: what its settings may be, how it divides a device, what a container gets, what its
// names are, and what makes a device another one to running containers. Nothing outside branches on
// the kind (tools/check_layers). Pure functions; what runs for a kind (daemons, files) is above the
// pools: node/mps, node/slices.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/node/sharing/share.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/status.h"

namespace kgpu::sharing {

// A GPU or, with `mig`, one of its MIG devices; both belong to the snapshot.
struct Device {
  const device::Gpu* gpu = nullptr;
  const device::MigDevice* mig = nullptr;

  const std::string& uuid() const { return mig != nullptr ? mig->uuid.str() : gpu->uuid.str(); }
};

// Memory that programs can allocate on the device: all of it, without the part that the driver
// keeps. Nothing: the driver does not report it.
std::optional<Bytes> UsableMemory(const Device& device);

// Limits of one slot.
struct Limits {
  std::optional<Bytes> memory{};  // nothing: the device's whole memory
  // Percent of the device's threads that each program of the slot may use; 0: no limit.
  unsigned threads = 0;
  // Percent of the device's time while others use the device, too; 0: no share is set.
  unsigned compute = 0;
  bool operator==(const Limits&) const = default;
};

// Equal slots of one device, all of one resource.
struct Cut {
  Share share;         // of the slots: with one size if they are memory slices
  unsigned slots = 1;  // 1 or more
  Limits limits{};
};

// A slot that a container requests.
struct SlotPart {
  std::string id;           // "GPU-…::3"
  std::string device_uuid;  // of the GPU or MIG device
  Limits limits{};
};

// A file or folder of the host in a container.
struct Mount {
  std::string container_path;
  std::string host_path;
  bool is_read_only = true;
  bool operator==(const Mount&) const = default;
};

// Files and variables that a container gets beside its devices.
struct Access {
  std::map<std::string, std::string> envs;
  std::vector<Mount> mounts;
};

// Where the files of the kinds are, as container engines call them.
struct Places {
  std::string slices{};                   // of limits on memory: "/var/lib/kgpu/share"
  std::string mps{};                      // of all daemons: "/run/kgpu/mps"
  std::string shared_memory{"/dev/shm"};  // the daemons' own
};

// Which fields a configuration sets.
struct GivenFields {
  bool replicas = false;
  bool size = false;
  bool layout = false;
  bool threads = false;
  bool multiple = false;
  bool compute = false;
  bool memory = false;  // one of context, pinned, unknown, onExcess and compute
};

// Takes an error: the field, the value and the fix.
using Refuse = std::function<void(const std::string&)>;

// Settings of a pool that not all kinds allow.
struct PoolFacts {
  bool sets_mig = false;           // pools[].mig
  bool names_mig_devices = false;  // by profile or UUID, in pools[].devices
};

// An error at a field of a pool: "mig", "devices".
struct PoolProblem {
  std::string_view field;
  std::string_view text;
};

// Names in the configurations and labels of others. Empty: it has none there.
struct ForeignNames {
  std::string_view label{};       // value of nvidia.com/gpu.sharing-strategy
  std::string_view capability{};  // of nvidia.com/….capable
  std::string_view section{};     // below `sharing` in the configuration of NVIDIA's plugin
  std::string_view gke{};         // GPUSharingStrategy of GKE
};

struct Traits {
  std::string_view name{};  // the word in share.by
  ForeignNames foreign{};
  // Each slot has a limit on device memory, which a library in the container keeps.
  bool limits_memory = false;
  // The agent makes the devices (MIG instances) of which each is one slot, shared with nobody.
  bool makes_devices = false;
  // A container's slots must be of one device.
  bool is_of_one_device = false;
  // Pools with provider: local may lend its slots.
  bool is_lendable = false;
  // The default of share.multiple.
  MultipleSlots multiple = MultipleSlots::kAllow;
};

// A way to share a device. The base is the way of whole devices: one slot, no limits, nothing to
// set. Objects are constants of the program, compared by address.
class Kind {
 public:
  constexpr explicit Kind(const Traits& traits) : traits_(traits) {}
  Kind(const Kind&) = delete;
  Kind& operator=(const Kind&) = delete;
  constexpr virtual ~Kind() = default;

  const Traits& traits() const { return traits_; }

  // Checks the settings of a pool, and fills in the kind's own defaults.
  virtual void Check(const GivenFields& given, Share& share, const Refuse& refuse) const;
  virtual std::vector<PoolProblem> CheckPool(const PoolFacts& facts) const;
  // OK if a device can have this many equal slots. Errors: InvalidArgument with the limit.
  virtual Status CheckReplicas(unsigned replicas) const;
  // OK if the device can be shared this way. Errors: FailedPrecondition with the fix.
  virtual Status CheckDevice(const Share& share, const Device& device) const;
  // The cuts of a device with this much usable memory, in the order of the settings. Errors:
  // FailedPrecondition with the amounts and the fix.
  virtual StatusOr<std::vector<Cut>> CutsOf(const Share& share, std::optional<Bytes> usable) const;
  // The end of the line, or lines, that describe a slot to running containers and daemons: a device
  // whose lines change does so only while nobody uses it. Later versions keep the text, since an
  // agent compares it with that of the agent before it.
  virtual std::string ShapeOf(const Share& share, const Limits& limits) const;
  // OK if a container may have these slots together. Errors: InvalidArgument.
  virtual Status CheckRequest(std::span<const SlotPart> slots, const Share& share) const;
  // The files and variables of a container with these slots.
  virtual Access AccessTo(std::span<const SlotPart> slots, const Share& share,
                          const Places& places) const;

 private:
  const Traits traits_;
};

// All ways to share, without kWhole.
std::span<const Kind* const> Kinds();
// The kind of share.by. Null: there is none with this name.
const Kind* FindKind(std::string_view name);
// The kind that NVIDIA's plugin, or GKE's, calls `name`. Null: there is none.
const Kind* FindBySection(std::string_view name);
const Kind* FindByGkeName(std::string_view name);

}  // namespace kgpu::sharing
