// The probe's answers as checked values. Whatever the driver does not have is nullopt or empty;
// `faults` are results that count against the device's health.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/device/gpu.h"
#include "src/gpu/device/ids.h"
#include "src/gpu/device/sample.h"
#include "src/gpu/nvml/abi.h"
#include "src/platform/base/bytes.h"

namespace kgpu::probe {

struct Hello {
  uint32_t pid = 0;
  std::string build;
};

struct DriverReport {
  std::string driver_version;
  std::string nvml_version;
  std::optional<int> cuda_version;  // 12020 is 12.2
  unsigned gpu_count = 0;
};

struct GpuReport {
  std::optional<device::GpuUuid> uuid;
  std::optional<unsigned> minor;
  std::optional<device::PciBusId> pci;
  uint16_t pci_vendor_id = 0;
  uint16_t pci_device_id = 0;
  std::string name;
  int32_t brand = 0;                     // nvml::Brand
  std::optional<uint32_t> architecture;  // nvml::kArch…
  std::optional<device::ComputeCapability> compute;
  std::optional<Bytes> memory;
  std::optional<Bytes> usable_memory;
  std::string serial;
  std::string vbios;
  std::optional<bool> is_ecc_enabled;
  std::optional<device::MigMode> mig_mode;
  unsigned max_mig_devices = 0;
  std::optional<unsigned> numa_node;
  std::optional<device::FabricId> fabric;
  std::optional<nvml::Return> fault;  // the first answer that is no mere "not supported"
};

struct MigReport {
  std::optional<device::MigUuid> uuid;
  std::string name;
  std::optional<unsigned> gpu_instance;
  std::optional<unsigned> compute_instance;
  struct Attributes {
    unsigned gpu_instance_slices = 0;
    unsigned compute_instance_slices = 0;
    unsigned multiprocessors = 0;
    device::MigEngines engines{};
    Bytes memory;
  };
  std::optional<Attributes> attributes;
  std::optional<unsigned> profile_id;         // of the GPU instance
  std::optional<unsigned> placement_start{};  // its first memory slice
  std::optional<nvml::Return> fault;
};

struct NvLinkReport {
  std::vector<device::NvLink> links;  // by link
  std::optional<nvml::Return> fault;
};

struct TopologyReport {
  // By the peer's NVML index; nullopt if the driver does not report it, and for the GPU itself.
  std::vector<std::optional<nvml::TopologyLevel>> levels;
};

// Measurements of a GPU, without its UUID, links, processes and MIG devices.
struct SampleReport {
  device::GpuSample sample;
  bool wants_second = false;  // a rate is missing because this was the first sample
};

struct ProcessPage {
  std::vector<device::ProcessSample> processes;
  bool has_more = false;  // there is a next page
};

// A driver event, or a failure while waiting for events.
struct Event {
  nvml::Return result = nvml::kSuccess;
  uint64_t type = 0;  // one of nvml::kEvent…
  uint64_t data = 0;  // the XID of an XID event
  std::optional<device::GpuUuid> uuid;
  std::optional<unsigned> gpu_instance;
  std::optional<unsigned> compute_instance;
};

}  // namespace kgpu::probe
