// The agent's series about itself, as table entries: the agent and its parts write their values.
#pragma once

#include <array>
#include <string_view>

#include "src/node/telemetry/series.h"

namespace kgpu::telemetry {

inline constexpr std::array kOwnSeries = {
    Series{"kgpu_build_info", metrics::Type::kInfo, "The version of kgpu; always 1.", "",
           "version"},
    Series{"kgpu_start_time_seconds", metrics::Type::kGauge, "When the agent started, Unix time.",
           "seconds", ""},
    Series{"kgpu_ready", metrics::Type::kGauge,
           "Whether pods can get GPUs: configured, driver ready, every resource registered.", "",
           ""},
    Series{"kgpu_config_ok", metrics::Type::kGauge,
           "Whether the configuration in use matches its file.", "", ""},
    Series{"kgpu_driver_ready", metrics::Type::kGauge, "Whether NVIDIA's library answers.", "", ""},
    Series{"kgpu_resource_devices", metrics::Type::kGauge,
           "Devices of a resource as the kubelet counts them, by health.", "", "resource, health"},
    Series{"kgpu_unassigned_devices", metrics::Type::kGauge, "Devices in no pool.", "", ""},
    Series{"kgpu_local_devices", metrics::Type::kGauge,
           "GPUs or slices of a local pool, by state: free, lent, unhealthy.", "",
           "resource, state"},
    Series{"kgpu_loans", metrics::Type::kGauge, "Loans of GPUs to programs of this host.", "", ""},
    Series{"kgpu_gpu_lent", metrics::Type::kGauge, "A GPU that is lent, and to whom; always 1.", "",
           "uuid, holder"},
    Series{"kgpu_resource_registered", metrics::Type::kGauge,
           "Whether the kubelet reads the resource's device list.", "", "resource"},
    Series{"kgpu_registrations_total", metrics::Type::kCounter,
           "Registrations with the kubelet, by outcome.", "", "resource, result"},
    Series{"kgpu_allocations_total", metrics::Type::kCounter, "Allocate calls, by outcome.", "",
           "resource, result"},
    Series{"kgpu_allocation_duration_seconds", metrics::Type::kHistogram,
           "Duration of Allocate calls.", "seconds", "resource, le"},
    Series{"kgpu_preferred_allocation_duration_seconds", metrics::Type::kHistogram,
           "Duration of GetPreferredAllocation calls.", "seconds", "resource, le"},
    Series{"kgpu_lists_sent_total", metrics::Type::kCounter, "Device lists sent to the kubelet.",
           "", "resource"},
    Series{"kgpu_health_journal_ok", metrics::Type::kGauge,
           "Whether health events are saved to disk.", "", ""},
    Series{"kgpu_usage_ledger_ok", metrics::Type::kGauge,
           "Whether GPU usage of pods is saved to disk.", "", ""},
    Series{"kgpu_loan_ledger_ok", metrics::Type::kGauge,
           "Whether the ledger of lent GPUs is readable and writable.", "", ""},
    Series{"kgpu_claims", metrics::Type::kGauge, "Claims of DRA that are prepared on this node.",
           "", ""},
    Series{"kgpu_claim_preparations_total", metrics::Type::kCounter,
           "Claims that the kubelet asked for, by outcome.", "", "result"},
    Series{"kgpu_resource_slice_writes_total", metrics::Type::kCounter,
           "Writes of this node's ResourceSlices.", "", ""},
    Series{"kgpu_agent_memory_ok", metrics::Type::kGauge,
           "Whether the agent's state is saved to disk: open faults, device list.", "", ""},
    Series{"kgpu_next_kernel_ok", metrics::Type::kGauge,
           "Whether the kernel of the next boot has NVIDIA's module, if the running one does.", "",
           ""},
    Series{"process_cpu_seconds_total", metrics::Type::kCounter,
           "User and system time of the agent. getrusage.", "seconds", ""},
    Series{"process_resident_memory_bytes", metrics::Type::kGauge,
           "Resident memory of the agent. /proc/self/statm.", "bytes", ""},
    Series{"process_open_fds", metrics::Type::kGauge,
           "Open file descriptors of the agent. /proc/self/fd.", "", ""},
    Series{"process_max_fds", metrics::Type::kGauge,
           "Limit of open file descriptors of the agent. getrlimit.", "", ""},
    Series{"process_start_time_seconds", metrics::Type::kGauge,
           "When the agent started, Unix time, under the standard name.", "seconds", ""},
};

// The entry of that name; a name that is not in the table does not compile.
consteval const Series& Own(std::string_view name) {
  for (const Series& series : kOwnSeries) {
    if (series.name == name) {
      return series;
    }
  }
  throw "no such series";  // NOLINT: only ever seen by the compiler
}

// Starts the family of a series.
inline void Begin(const Series& series, metrics::Exposition& page) {
  page.Family(series.name, series.type, series.help, series.unit);
}

// Writes a family of one sample without labels.
inline void Write(const Series& series, double value, metrics::Exposition& page) {
  Begin(series, page);
  page.Sample(value);
}

}  // namespace kgpu::telemetry
