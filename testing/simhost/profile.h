// A simulated host's hardware and driver as data: GPU models and the profiles that put them into a
// machine. Written as YAML in testing/profiles; docs/how-it-works/simulated-driver.md lists them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/ids.h"
#include "src/platform/base/status.h"

namespace kgpu::simhost {

// One row of a GPU's MIG geometry. Engines and memory are per instance.
struct MigProfile {
  std::string name;         // "1g.10gb+me"
  unsigned nvml_index = 0;  // NVML_GPU_INSTANCE_PROFILE_*
  unsigned id = 0;          // GI profile id, as nvidia-smi mig -lgip prints it
  unsigned compute_slices = 0;
  unsigned memory_slices = 0;
  std::vector<unsigned> starts;  // memory slices where an instance may start
  unsigned max_instances = 0;
  unsigned multiprocessors = 0;
  unsigned copy_engines = 0;
  unsigned decoders = 0;
  unsigned jpeg_engines = 0;
  unsigned ofa_engines = 0;
  unsigned memory_mib = 0;
};

// Clocks in MHz.
struct ClockLimits {
  unsigned graphics = 0;
  unsigned memory = 0;
  unsigned video = 0;
};

struct PowerLimits {
  unsigned default_watts = 0;
  unsigned least_watts = 0;
  unsigned most_watts = 0;
};

// Values that a driver does not report for a GPU: such calls return NOT_SUPPORTED.
enum class Feature {
  kEcc,
  kPower,
  kPowerLimits,
  kFan,
  kUtilization,
  kSerial,
  kEncoder,
  kRemappedRows,
  kEnergy,
  kThrottle,
  kClocks,
  kBar1,
  kPcieThroughput,
  kMemoryTemperature
};

// One kind of GPU. PCI vendor and subsystem vendor are NVIDIA (0x10de) unless given.
struct GpuModel {
  std::string id;            // "A100-SXM4-80GB": the file's name without .yaml
  std::string name;          // as NVML says
  std::string brand;         // word of nvmlDeviceGetBrand: "NVIDIA", "Tesla", "Quadro"
  std::string architecture;  // "ampere"
  unsigned compute_major = 0;
  unsigned compute_minor = 0;
  uint16_t pci_device = 0;
  uint16_t pci_subsystem_vendor = 0x10de;
  uint16_t pci_subsystem_device = 0;
  bool is_vga = false;  // PCI class 0300 instead of 0302
  unsigned pcie_generation = 0;
  unsigned pcie_width = 16;
  unsigned memory_mib = 0;
  unsigned bar1_mib = 0;
  unsigned context_mib = 0;  // that each CUDA context costs; 0: the simulated driver's default
  unsigned multiprocessors = 0;
  unsigned cores = 0;
  unsigned bus_width_bits = 0;
  ClockLimits clocks;
  PowerLimits power;
  unsigned slowdown_celsius = 0;
  unsigned shutdown_celsius = 0;
  unsigned nvlinks = 0;
  unsigned nvlink_version = 0;
  std::string vbios;
  std::string part_number;
  std::vector<Feature> missing;
  bool needs_reset_for_mig = false;      // Ampere
  std::vector<MigProfile> mig_profiles;  // empty: not MIG capable

  const MigProfile* FindMigProfile(std::string_view profile_name) const;
  bool Lacks(Feature feature) const;
};

struct ProfileGpu {
  std::string model;  // GpuModel::id
  device::PciBusId pci;
  unsigned numa_node = 0;
  std::optional<unsigned> pcie_switch;  // GPUs with the same number share a PCIe switch
  // Boards with several GPUs: GPUs with the same number are on the same board.
  std::optional<unsigned> board;
  // Names of MIG profiles to create; nullopt: MIG disabled.
  std::optional<std::vector<std::string>> mig;
};

// How the NVLinks of a machine are wired.
enum class NvLinkFabric { kNone, kDirect, kSwitched };

struct ProfileSwitch {
  device::PciBusId pci;
  uint16_t pci_device = 0;
  bool operator==(const ProfileSwitch&) const = default;
};

struct ProfileDriver {
  std::string version;  // "535.104.05"; empty: no driver is installed
  unsigned cuda_major = 0;
  unsigned cuda_minor = 0;
  bool is_open = false;  // the open kernel modules
};

struct Profile {
  std::string name;
  std::string description;
  ProfileDriver driver;
  std::string kernel_release;               // as uname -r
  std::vector<std::string> numa_cpu_lists;  // "0-15,128-143" of each NUMA node
  NvLinkFabric nvlink = NvLinkFabric::kNone;
  std::vector<ProfileSwitch> nvswitches;  // those that the PCI bus shows
  std::vector<ProfileGpu> gpus;
  std::map<std::string, GpuModel> models;  // those that gpus name
};

// Text of the model file with this id, or NotFound.
using ModelSource = std::function<StatusOr<std::string>(std::string_view id)>;

// Strict: unknown keys, duplicates, wrong types and impossible values are errors with
// "file:line:column: field: value … fix". Limits: 64 KiB, 64 GPUs. Errors: InvalidArgument; those
// of `models`.
StatusOr<GpuModel> ParseGpuModel(std::string_view text, std::string_view id);
StatusOr<Profile> ParseProfile(std::string_view text, std::string_view file,
                               const ModelSource& models);

// The built-in profiles and models, by name.
const std::map<std::string_view, std::string_view>& BuiltinProfiles();
const std::map<std::string_view, std::string_view>& BuiltinModels();

// The built-in model files. Errors: NotFound, with the nearest name.
StatusOr<std::string> BuiltinModelText(std::string_view id);

// A version such as "535.104.05": two to four numbers with dots.
bool IsDriverVersion(std::string_view text);

}  // namespace kgpu::simhost
