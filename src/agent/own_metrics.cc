#include "src/agent/own_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>

#include "src/node/telemetry/own_series.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {
namespace {

using metrics::Exposition;
using telemetry::Begin;
using telemetry::Own;
using telemetry::Write;

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

uint64_t ResidentBytes(const sys::Root& own) {
  // The second number of /proc/self/statm, in pages. Source: proc(5).
  const auto text = own.ReadFile("proc/self/statm");
  if (!text.ok()) {
    return 0;
  }
  const size_t blank = text->find(' ');
  const uint64_t pages =
      blank == std::string::npos ? 0 : std::strtoull(text->c_str() + blank + 1, nullptr, 10);
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void AddAgent(const AgentState& state, std::string_view version, Exposition& page) {
  Begin(Own("kgpu_build_info"), page);
  page.Sample({{"version", version}}, 1);
  Write(Own("kgpu_start_time_seconds"),
        std::chrono::duration<double>(state.started.time_since_epoch()).count(), page);
  std::string why;
  Write(Own("kgpu_ready"), IsReady(state, &why) ? 1 : 0, page);
  Write(Own("kgpu_config_ok"), state.has_config && state.config_problem.empty() ? 1 : 0, page);
  Write(Own("kgpu_driver_ready"),
        state.snapshot && state.snapshot->driver.state == device::DriverState::kReady ? 1 : 0,
        page);
  Write(Own("kgpu_agent_memory_ok"), state.memory_problem.empty() ? 1 : 0, page);
}

void AddResources(const AgentState& state, Exposition& page) {
  Begin(Own("kgpu_resource_devices"), page);
  for (const pools::Resource& resource : state.assignment.resources) {
    const auto healthy = std::ranges::count_if(
        resource.slots, [](const pools::Slot& slot) { return slot.health.is_healthy; });
    page.Sample({{"resource", resource.name}, {"health", "healthy"}}, static_cast<double>(healthy));
    page.Sample({{"resource", resource.name}, {"health", "unhealthy"}},
                static_cast<double>(resource.slots.size()) - static_cast<double>(healthy));
  }
  Write(Own("kgpu_unassigned_devices"), static_cast<double>(state.assignment.unassigned.size()),
        page);
}

metrics::Histogram HistogramOf(const plugin::LatencyCounts& counts) {
  return {.bounds = plugin::kLatencyBounds, .samples = counts.calls, .sum = counts.seconds};
}

void AddLatency(const AgentState& state, Exposition& page) {
  Begin(Own("kgpu_allocation_duration_seconds"), page);
  for (const plugin::EndpointStatus& endpoint : state.endpoints) {
    page.Sample({{"resource", endpoint.resource}}, HistogramOf(endpoint.counts.allocation_latency));
  }
  Begin(Own("kgpu_preferred_allocation_duration_seconds"), page);
  for (const plugin::EndpointStatus& endpoint : state.endpoints) {
    page.Sample({{"resource", endpoint.resource}}, HistogramOf(endpoint.counts.preference_latency));
  }
}

void AddEndpoints(const AgentState& state, Exposition& page) {
  Begin(Own("kgpu_resource_registered"), page);
  for (const plugin::EndpointStatus& endpoint : state.endpoints) {
    page.Sample({{"resource", endpoint.resource}},
                endpoint.state == plugin::EndpointState::kRegistered ? 1 : 0);
  }
  Begin(Own("kgpu_registrations_total"), page);
  for (const plugin::EndpointStatus& endpoint : state.endpoints) {
    page.Sample({{"resource", endpoint.resource}, {"result", "ok"}},
                static_cast<double>(endpoint.registrations));
    page.Sample({{"resource", endpoint.resource}, {"result", "failed"}},
                static_cast<double>(endpoint.failed_registrations));
  }
  Begin(Own("kgpu_allocations_total"), page);
  for (const plugin::EndpointStatus& endpoint : state.endpoints) {
    page.Sample({{"resource", endpoint.resource}, {"result", "ok"}},
                static_cast<double>(endpoint.counts.allocations));
    page.Sample({{"resource", endpoint.resource}, {"result", "refused"}},
                static_cast<double>(endpoint.counts.failed_allocations));
  }
  AddLatency(state, page);
  Begin(Own("kgpu_lists_sent_total"), page);
  for (const plugin::EndpointStatus& endpoint : state.endpoints) {
    page.Sample({{"resource", endpoint.resource}}, static_cast<double>(endpoint.counts.lists_sent));
  }
}

void AddProcess(const AgentState& state, const ProcessUse& use, Exposition& page) {
  Write(Own("process_cpu_seconds_total"), use.cpu_seconds, page);
  Write(Own("process_resident_memory_bytes"), static_cast<double>(use.resident_bytes), page);
  Write(Own("process_open_fds"), static_cast<double>(use.open_fds), page);
  Write(Own("process_max_fds"), static_cast<double>(use.max_fds), page);
  Write(Own("process_start_time_seconds"),
        std::chrono::duration<double>(state.started.time_since_epoch()).count(), page);
}

}  // namespace

ProcessUse OwnUse(const sys::Root& own) {
  ProcessUse use;
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  use.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  use.resident_bytes = ResidentBytes(own);
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  use.max_fds = limit.rlim_cur;
  std::error_code error;
  for (std::filesystem::directory_iterator fds("/proc/self/fd", error), end; !error && fds != end;
       fds.increment(error)) {
    ++use.open_fds;
  }
  return use;
}

void WriteOwnMetrics(const AgentState& state, const ProcessUse& use, std::string_view version,
                     metrics::Exposition& page) {
  AddAgent(state, version, page);
  AddResources(state, page);
  AddEndpoints(state, page);
  AddProcess(state, use, page);
}

}  // namespace kgpu::agent
