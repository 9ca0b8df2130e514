// What the driver measures of GPUs at one moment, as values. A field that the GPU, the driver or
// the mode (MIG, vGPU) does not support is nullopt, never an invented zero. Counters start when the
// driver is loaded; "aggregate" ones are kept on the board.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/device/ids.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/clock.h"

namespace kgpu::device {

struct MemoryUse {
  Bytes total{};
  Bytes reserved{};  // for the driver and firmware; not part of `used`
  Bytes used{};
  Bytes free{};
  bool operator==(const MemoryUse&) const = default;
};

// Shares of time or of a peak, in percent.
struct Utilization {
  std::optional<double> gpu;         // share of the driver's last period in which a kernel ran
  std::optional<double> duty_cycle;  // mean of the driver's samples of `gpu` over the last 10 s
  std::optional<double> memory;      // share of time in which device memory was read or written
  std::optional<double> encoder;
  std::optional<double> decoder;
  std::optional<double> jpeg;
  std::optional<double> ofa;
};

struct EccCounts {
  std::optional<uint64_t> volatile_corrected;
  std::optional<uint64_t> volatile_uncorrected;
  std::optional<uint64_t> aggregate_corrected;
  std::optional<uint64_t> aggregate_uncorrected;
};

// Ampere and newer. Source: nvmlDeviceGetRemappedRows.
struct RowRemaps {
  unsigned corrected = 0;    // rows remapped after corrected errors
  unsigned uncorrected = 0;  // rows remapped after uncorrected errors
  bool is_pending = false;   // takes effect with the next reset
  bool has_failed = false;   // a remap failed because no spare row was left
  // Number of banks by their remaining spare rows: all, many, some, one, none. Source:
  // nvmlDeviceGetRowRemapperHistogram.
  std::optional<std::vector<unsigned>> spare_rows;
};

// Before Ampere. Source: nvmlDeviceGetRetiredPages.
struct RetiredPages {
  unsigned single_bit = 0;  // after many corrected errors
  unsigned double_bit = 0;
  bool is_pending = false;
};

struct Clocks {  // MHz
  std::optional<unsigned> graphics, sm, memory, video;
  std::optional<unsigned> max_sm, max_memory;
};

struct Temperatures {  // degrees Celsius
  std::optional<int> gpu, memory;
  std::optional<int> slowdown, shutdown, gpu_max, memory_max;  // limits
};

struct Power {
  std::optional<double> watts;
  std::optional<double> limit_watts;           // currently enforced
  std::optional<uint64_t> energy_millijoules;  // since the driver was loaded
};

struct PcieSample {
  std::optional<unsigned> generation, max_generation;  // max: of GPU and slot together
  std::optional<unsigned> width, max_width;            // lanes
  std::optional<uint64_t> replays;
  std::optional<uint64_t> sent_bytes_per_second, received_bytes_per_second;  // over the last 20 ms
};

struct NvLinkSample {
  unsigned link = 0;
  bool is_active = false;
  std::optional<uint64_t> replay_errors, recovery_errors, crc_flit_errors, crc_data_errors;
  std::optional<uint64_t> sent_bytes, received_bytes;  // counters
};

enum class ProcessKind : uint8_t { kCompute, kGraphics, kMps };

struct ProcessSample {
  uint32_t pid = 0;  // in the host's PID namespace
  ProcessKind kind = ProcessKind::kCompute;
  std::optional<Bytes> memory;
  std::optional<unsigned> gpu_instance, compute_instance;
  // Percent, from the driver's newest sample; absent on MIG and for MPS clients.
  std::optional<double> sm, memory_utilization, encoder, decoder;
};

// GPM metrics between two samples: fractions from 0 to 1 unless the name says bytes. Hopper and
// newer. Source: nvmlGpmMetricsGet.
struct ProfilingSample {
  std::optional<double> graphics_active, sm_active, sm_occupancy;
  std::optional<double> tensor_active, fp64_active, fp32_active, fp16_active;
  std::optional<double> dram_active;
  std::optional<double> pcie_sent_bytes_per_second, pcie_received_bytes_per_second;
  std::optional<double> nvlink_sent_bytes_per_second, nvlink_received_bytes_per_second;
};

struct MigSample {
  MigUuid uuid;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
  std::optional<MemoryUse> memory;  // of the GPU instance
  ProfilingSample profiling;
};

struct GpuSample {
  GpuUuid uuid;
  Utilization utilization;
  std::optional<MemoryUse> memory;
  std::optional<Bytes> bar1_total, bar1_used;
  Temperatures temperatures;
  Power power;
  Clocks clocks;
  std::optional<uint64_t> throttle_reasons;  // nvmlClocksEventReason… bits, see nvml/throttle.h
  // Nanoseconds of throttling since the driver was loaded, by cause.
  std::optional<uint64_t> power_violation_ns, thermal_violation_ns;
  EccCounts ecc;
  std::optional<RowRemaps> remaps;
  std::optional<RetiredPages> retired;
  PcieSample pcie;
  std::vector<NvLinkSample> nvlinks;  // by link
  std::vector<unsigned> fans;         // percent, by fan; empty: passive or unknown
  std::optional<unsigned> performance_state;
  std::optional<unsigned> fabric_state;   // nvml::kFabricState…
  std::optional<unsigned> fabric_status;  // an nvml::Return, once the registration is complete
  std::optional<uint64_t> fabric_health;  // nvml::FabricHealth
  std::optional<bool> is_sram_threshold_exceeded;
  std::optional<unsigned> recovery_action;  // the driver's advice: nvmlDeviceGpuRecoveryAction_t
  ProfilingSample profiling;
  std::vector<ProcessSample> processes;  // by pid
  std::vector<MigSample> migs;           // by (gpu_instance, compute_instance)
};

// One round over all GPUs, without those that did not answer.
struct SampleSet {
  uint64_t version = 0;  // increases with every round
  SteadyTime begun{};
  WallTime taken{};
  // False if a value is a rate between two rounds and this was the first.
  bool is_complete = true;
  std::vector<GpuSample> gpus;  // sorted by PCI address, as in the Snapshot
  const GpuSample* Find(const GpuUuid& uuid) const;
};

using SampleSetPtr = std::shared_ptr<const SampleSet>;

}  // namespace kgpu::device
