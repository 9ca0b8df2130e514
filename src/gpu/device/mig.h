// The MIG geometry of each GPU model, and the names of MIG devices. Pure functions over tables.
// Source: NVIDIA's MIG user guide, "Supported MIG profiles"; values captured from hardware.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/bytes.h"

namespace kgpu::device {

// A kind of GPU instance that a model can be partitioned into. Two instances never overlap in
// memory slices. Engine counts are 0 if unknown.
struct MigProfile {
  std::string name;              // "1g.10gb", "1g.10gb+me"
  unsigned nvml_profile = 0;     // NVML_GPU_INSTANCE_PROFILE_…
  unsigned profile_id = 0;       // GPU instance profile id as nvidia-smi shows it
  unsigned slices = 0;           // compute slices
  unsigned memory_slices = 0;    // occupied, from the start slice on
  std::vector<unsigned> starts;  // allowed first memory slices
  unsigned max_instances = 0;
  unsigned multiprocessors = 0;
  unsigned copy_engines = 0;
  unsigned decoders = 0;
  unsigned jpegs = 0;
  unsigned ofas = 0;
  Bytes memory;
};

// Profiles of the model with this PCI device id, sorted by profile_id, which is from large to small
// instances; empty for a model without MIG or one that the table does not know.
std::vector<MigProfile> MigProfiles(uint16_t pci_device_id);

// What is known about a MIG device when it is named.
struct MigNaming {
  std::string_view driver_name{};  // "NVIDIA A100-SXM4-80GB MIG 1g.10gb"; may be empty
  unsigned gpu_instance_slices = 0;
  unsigned compute_instance_slices = 0;
  unsigned ofa_engines = 0;
  Bytes memory{};
  Bytes gpu_memory{};                    // of the whole GPU
  std::optional<unsigned> profile_id{};  // of the GPU instance
};

// "1g.10gb", "1g.10gb+me", "1c.3g.40gb": the driver's own name if it has one, else computed from
// slices and memory. Empty if neither is known.
std::string MigProfileName(const MigNaming& naming);

// True for a well-formed profile name.
bool IsMigProfileName(std::string_view text);

}  // namespace kgpu::device
