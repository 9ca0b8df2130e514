// The MIG geometry of each GPU model, and the names of MIG devices. Pure functions over tables.
// Source: NVIDIA's MIG user guide, "Supported MIG profiles"; values captured from hardware.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/bytes.h"
#include "src/platform/base/status.h"

namespace kgpu::device {

// A kind of GPU instance that a model can be partitioned into. Two instances never overlap in
// memory slices, and together have at most the slices and media engines of the whole GPU.
struct MigProfile {
  std::string name;              // "1g.10gb", "1g.10gb+me", "1g.24gb+gfx", "1g.24gb-me"
  unsigned nvml_profile = 0;     // NVML_GPU_INSTANCE_PROFILE_…
  unsigned profile_id = 0;       // GPU instance profile id as nvidia-smi shows it
  unsigned slices = 0;           // compute slices
  unsigned memory_slices = 0;    // occupied, from the start slice on
  std::vector<unsigned> starts;  // allowed first memory slices
  unsigned max_instances = 0;
  unsigned multiprocessors = 0;  // 0: unknown
  unsigned copy_engines = 0;
  unsigned decoders = 0;
  unsigned encoders = 0;
  unsigned jpegs = 0;
  unsigned ofas = 0;
  Bytes memory;  // 0: unknown
  bool operator==(const MigProfile&) const = default;
};

// Profiles of the model with this PCI device id, from large to small, then by profile_id; empty for
// a model without MIG or one that the table does not know.
std::vector<MigProfile> MigProfiles(uint16_t pci_device_id);

// Models with the same profiles.
struct MigModel {
  std::string name;  // "A100-80GB"
  std::vector<uint16_t> pci_device_ids;
  bool needs_reset = false;  // Ampere: MIG is turned on and off by a reset of the GPU
};

// All models of the table.
std::vector<MigModel> MigModels();

// The model that a person names: "A100-80GB", "H100-SXM5-80GB", "NVIDIA H200", "0x2330"; the
// beginning of a name is enough if it fits one only, or only one that has all of `profiles`. Case
// does not count. Errors: NotFound, InvalidArgument (fits several); both list the names.
StatusOr<MigModel> FindMigModel(std::string_view text,
                                const std::vector<std::string>& profiles = {});

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
