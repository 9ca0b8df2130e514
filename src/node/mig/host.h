// The GPUs of this host with their MIG layouts, and who uses them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/device/ids.h"
#include "src/node/mig/planner.h"
#include "src/node/mig/session.h"
#include "src/platform/base/status.h"

namespace kgpu::mig {

// A process that the driver lists, or a container that the kubelet gave the device to.
struct User {
  std::string text;  // "process 4711", "pod shop/train-0"
  std::optional<unsigned> gpu_instance;
  uint32_t pid = 0;  // of a process, in the host's namespace
};

// A compute instance as the driver's MIG device.
struct MigDeviceId {
  std::string uuid;
  unsigned gpu_instance = 0;
};

struct HostGpu {
  unsigned index = 0;  // NVML's
  device::GpuUuid uuid{};
  std::string name{};
  std::string model{};
  uint16_t pci_device_id = 0;
  std::optional<device::MigMode> mode{};       // nullopt: no MIG
  std::shared_ptr<const Geometry> geometry{};  // null: no MIG
  std::vector<probe::GpuInstanceReport> instances{};
  std::vector<MigDeviceId> devices{};
  std::vector<User> users{};

  bool is_mig_enabled() const { return mode && mode->is_enabled; }
  // Whether the next reset turns MIG on or off.
  bool is_mode_pending() const { return mode && mode->is_enabled != mode->is_pending_enabled; }
};

// All GPUs, by index. A GPU that does not answer is left out with a line in `problems`. Errors:
// those of DriverSession; the driver's if it lists no GPUs.
StatusOr<std::vector<HostGpu>> ReadHostGpus(DriverSession& session,
                                            std::vector<std::string>& problems);

// The GPU with this index. Errors: the driver's.
StatusOr<HostGpu> ReadHostGpu(DriverSession& session, unsigned index);

// The profiles as the driver reports them; names that it does not say, and everything if it reports
// none, from the table. Errors: NotFound (neither knows any).
StatusOr<Geometry> GeometryOf(std::vector<device::MigProfile> reported, uint16_t pci_device_id);

// A GPU instance as the planner sees it. One of an unknown profile: NotFound.
StatusOr<Instance> InstanceOf(const Geometry& geometry, const probe::GpuInstanceReport& report);

// How to treat what is in use.
enum class InUse { kStays, kMayMove };

// The GPU for the planner: without MIG, its users use all of it. Errors: those of InstanceOf.
StatusOr<GpuState> StateOf(const HostGpu& gpu, InUse in_use);

// The users of a GPU instance; nullopt: of the GPU.
std::vector<const User*> UsersOf(const HostGpu& gpu, std::optional<unsigned> gpu_instance);

// Notes that a container has the device with this UUID, a GPU or a MIG device.
void AddDeviceUser(std::vector<HostGpu>& gpus, std::string_view device, const std::string& user);

// Whether `text` names the GPU: its index, UUID or the beginning of its UUID.
bool IsNamed(const HostGpu& gpu, std::string_view text);

}  // namespace kgpu::mig
