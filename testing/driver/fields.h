// The plain values of a simulated GPU that `set GPU FIELD VALUE` can change, by name.
#pragma once

#include <cstdint>
#include <string_view>

#include "testing/driver/state.h"

namespace kgpu::sim {

struct Field {
  std::string_view name;
  uint64_t limit;  // the largest value that makes sense
  void (*set)(SimGpu& gpu, uint64_t value);
};

// A setter for a 32-bit member: KGPU_FIELD(power.usage).
#define KGPU_FIELD(member) \
  [](SimGpu& gpu, uint64_t value) { gpu.member = static_cast<uint32_t>(value); }

inline constexpr Field kFields[] = {
    {"clock-graphics", 10000, KGPU_FIELD(clocks.current[0])},
    {"clock-sm", 10000, KGPU_FIELD(clocks.current[1])},
    {"clock-memory", 30000, KGPU_FIELD(clocks.current[2])},
    {"clock-video", 10000, KGPU_FIELD(clocks.current[3])},
    {"application-clock-graphics", 10000, KGPU_FIELD(clocks.application[0])},
    {"application-clock-memory", 30000, KGPU_FIELD(clocks.application[2])},
    {"power-usage", 10'000'000, KGPU_FIELD(power.usage)},
    {"power-limit", 10'000'000, KGPU_FIELD(power.limit)},
    {"temperature", 150, KGPU_FIELD(temperature.gpu)},
    {"temperature-memory", 150, KGPU_FIELD(temperature.memory)},
    {"temperature-only-tlimit", 1, KGPU_FIELD(temperature.has_no_thresholds)},
    {"utilization-gpu", 100, KGPU_FIELD(utilization.gpu)},
    {"utilization-memory", 100, KGPU_FIELD(utilization.memory)},
    {"utilization-encoder", 100, KGPU_FIELD(utilization.encoder)},
    {"utilization-decoder", 100, KGPU_FIELD(utilization.decoder)},
    {"utilization-jpeg", 100, KGPU_FIELD(utilization.jpeg)},
    {"utilization-ofa", 100, KGPU_FIELD(utilization.ofa)},
    {"fan", 100, KGPU_FIELD(fan_percent)},
    {"performance-state", 15, KGPU_FIELD(performance_state)},
    {"compute-mode", 3, KGPU_FIELD(compute_mode)},
    {"persistence-mode", 1, KGPU_FIELD(persistence_mode)},
    {"accounting-mode", 1, KGPU_FIELD(accounting_mode)},
    {"ecc-pending-mode", 1, KGPU_FIELD(ecc.pending_mode)},
    {"pcie-generation", 7, KGPU_FIELD(pcie.generation)},
    {"pcie-width", 32, KGPU_FIELD(pcie.width)},
    {"pcie-replay-counter", 0xffffffff, KGPU_FIELD(pcie.replay_counter)},
    {"pcie-tx-kib", 0xffffffff, KGPU_FIELD(pcie.tx_kib_s)},
    {"pcie-rx-kib", 0xffffffff, KGPU_FIELD(pcie.rx_kib_s)},
    {"remap-corrected", 0xffffffff, KGPU_FIELD(remap.corrected)},
    {"remap-uncorrected", 0xffffffff, KGPU_FIELD(remap.uncorrected)},
    {"remap-pending", 1, KGPU_FIELD(remap.is_pending)},
    {"remap-failed", 1, KGPU_FIELD(remap.has_failed)},
    {"retired-pages-pending", 1, KGPU_FIELD(retired_pages_pending)},
    {"fabric-state", 3, KGPU_FIELD(fabric_state)},
    {"fabric-cluster", 0xffff, KGPU_FIELD(fabric_cluster)},
    {"fabric-clique", 0xffff, KGPU_FIELD(fabric_clique)},
    {"fabric-status", 999, KGPU_FIELD(fabric_status)},
    {"fabric-health", 0xff, KGPU_FIELD(fabric_health)},
    {"sram-threshold", 1, KGPU_FIELD(ecc.is_sram_threshold_exceeded)},
    {"gpm-graphics-active", 100, KGPU_FIELD(gpm.graphics)},
    {"gpm-sm-active", 100, KGPU_FIELD(gpm.sm)},
    {"gpm-sm-occupancy", 100, KGPU_FIELD(gpm.occupancy)},
    {"gpm-tensor-active", 100, KGPU_FIELD(gpm.tensor)},
    {"gpm-fp64-active", 100, KGPU_FIELD(gpm.fp64)},
    {"gpm-fp32-active", 100, KGPU_FIELD(gpm.fp32)},
    {"gpm-fp16-active", 100, KGPU_FIELD(gpm.fp16)},
    {"gpm-dram-active", 100, KGPU_FIELD(gpm.dram)},
    {"nvlink-tx-kib", 0xffffffff, KGPU_FIELD(nvlink_tx_kib_s)},
    {"nvlink-rx-kib", 0xffffffff, KGPU_FIELD(nvlink_rx_kib_s)},
    {"recovery-action", 5, KGPU_FIELD(recovery_action)},
    {"reset-required", 1, KGPU_FIELD(reset_required)},
    {"context-mib", 65536, KGPU_FIELD(context_mib)},
    {"unlisted", 1, KGPU_FIELD(is_unlisted)},
    {"virtualization", 4, KGPU_FIELD(virtualization)},
    {"energy-mj", ~uint64_t{0}, [](SimGpu& gpu, uint64_t value) { gpu.power.energy_mj = value; }},
    {"power-violation-ns", ~uint64_t{0},
     [](SimGpu& gpu, uint64_t value) { gpu.power_violation_ns = value; }},
    {"thermal-violation-ns", ~uint64_t{0},
     [](SimGpu& gpu, uint64_t value) { gpu.thermal_violation_ns = value; }},
    {"memory-used", ~uint64_t{0},
     [](SimGpu& gpu, uint64_t value) {
       gpu.memory_used = value < gpu.memory_total ? value : gpu.memory_total;
     }},
};
#undef KGPU_FIELD

}  // namespace kgpu::sim
