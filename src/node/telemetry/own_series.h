// The agent's series about itself, as entries of the table: it writes their values.
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
           "Whether the configuration in force is what its file says.", "", ""},
    Series{"kgpu_driver_ready", metrics::Type::kGauge, "Whether NVIDIA's library answers.", "", ""},
    Series{"kgpu_resource_devices", metrics::Type::kGauge,
           "Devices of a resource as the kubelet counts them, by health.", "", "resource, health"},
    Series{"kgpu_unassigned_devices", metrics::Type::kGauge, "Devices that no pool takes.", "", ""},
    Series{"kgpu_resource_registered", metrics::Type::kGauge,
           "Whether the kubelet reads the resource's list of devices.", "", "resource"},
    Series{"kgpu_registrations_total", metrics::Type::kCounter,
           "Registrations with the kubelet, by outcome.", "", "resource, result"},
    Series{"kgpu_allocations_total", metrics::Type::kCounter, "Answers to Allocate, by outcome.",
           "", "resource, result"},
    Series{"kgpu_allocation_duration_seconds", metrics::Type::kHistogram,
           "How long the kubelet waited for an answer to Allocate.", "seconds", "resource, le"},
    Series{"kgpu_preferred_allocation_duration_seconds", metrics::Type::kHistogram,
           "The same of GetPreferredAllocation.", "seconds", "resource, le"},
    Series{"kgpu_lists_sent_total", metrics::Type::kCounter,
           "Lists of devices sent to the kubelet.", "", "resource"},
    Series{"kgpu_health_journal_ok", metrics::Type::kGauge,
           "Whether news of the GPUs' health is kept on the disk.", "", ""},
    Series{"kgpu_usage_ledger_ok", metrics::Type::kGauge,
           "Whether what pods have had of the GPUs is kept on the disk.", "", ""},
    Series{"kgpu_agent_memory_ok", metrics::Type::kGauge,
           "Whether the agent keeps what its next start needs: open faults, the list of devices.",
           "", ""},
    Series{"kgpu_next_kernel_ok", metrics::Type::kGauge,
           "Whether the kernel of the next start has NVIDIA's module, if this one has.", "", ""},
    Series{"process_cpu_seconds_total", metrics::Type::kCounter,
           "User and system time of the agent. getrusage.", "seconds", ""},
    Series{"process_resident_memory_bytes", metrics::Type::kGauge,
           "Resident memory of the agent. /proc/self/statm.", "bytes", ""},
    Series{"process_open_fds", metrics::Type::kGauge,
           "Open file descriptors of the agent. /proc/self/fd.", "", ""},
    Series{"process_max_fds", metrics::Type::kGauge,
           "How many file descriptors the agent may open. getrlimit.", "", ""},
    Series{"process_start_time_seconds", metrics::Type::kGauge,
           "When the agent started, Unix time, under the name that every process has.", "seconds",
           ""},
};

// The entry of that name; one that is not in the table does not compile.
consteval const Series& Own(std::string_view name) {
  for (const Series& series : kOwnSeries) {
    if (series.name == name) {
      return series;
    }
  }
  throw "no such series";  // NOLINT: only ever seen by the compiler
}

}  // namespace kgpu::telemetry
