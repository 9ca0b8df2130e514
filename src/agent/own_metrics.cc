#include "src/agent/own_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>

#include "src/agent/loan_view.h"
#include "src/node/telemetry/own_series.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {
namespace {

using metrics::Exposition;

void Begin(const telemetry::Series& series, Exposition& page) {
  page.Family(series.name, series.type, series.help, series.unit);
}

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
  Begin(telemetry::Own("kgpu_build_info"), page);
  page.Sample({{"version", version}}, 1);
  Begin(telemetry::Own("kgpu_start_time_seconds"), page);
  page.Sample(std::chrono::duration<double>(state.started.time_since_epoch()).count());
  std::string why;
  Begin(telemetry::Own("kgpu_ready"), page);
  page.Sample(IsReady(state, &why) ? 1 : 0);
  Begin(telemetry::Own("kgpu_config_ok"), page);
  page.Sample(state.has_config && state.config_problem.empty() ? 1 : 0);
  Begin(telemetry::Own("kgpu_driver_ready"), page);
  page.Sample(state.snapshot && state.snapshot->driver.state == device::DriverState::kReady ? 1
                                                                                            : 0);
}

void AddResources(const AgentState& state, Exposition& page) {
  Begin(telemetry::Own("kgpu_resource_devices"), page);
  for (const pools::Resource& resource : state.assignment.resources) {
    const auto healthy = std::ranges::count_if(
        resource.slots, [](const pools::Slot& slot) { return slot.health.is_healthy; });
    page.Sample({{"resource", resource.name}, {"health", "healthy"}}, static_cast<double>(healthy));
    page.Sample({{"resource", resource.name}, {"health", "unhealthy"}},
                static_cast<double>(resource.slots.size()) - static_cast<double>(healthy));
  }
  Begin(telemetry::Own("kgpu_unassigned_devices"), page);
  page.Sample(static_cast<double>(state.assignment.unassigned.size()));
}

void AddLocal(const AgentState& state, Exposition& page) {
  const std::map<std::string, std::string> holders = SlotHoldersOf(state.loans);
  Begin(telemetry::Own("kgpu_local_devices"), page);
  for (const pools::Resource& pool : state.assignment.local) {
    std::map<std::string_view, double> counts = {{"free", 0}, {"lent", 0}, {"unhealthy", 0}};
    for (const pools::Slot& slot : pool.slots) {
      ++counts[holders.contains(slot.id) ? "lent" : slot.health.is_healthy ? "free" : "unhealthy"];
    }
    for (const auto& [state_of_gpu, count] : counts) {
      page.Sample({{"resource", pool.name}, {"state", state_of_gpu}}, count);
    }
  }
  Begin(telemetry::Own("kgpu_loans"), page);
  page.Sample(static_cast<double>(state.loans.size()));
  Begin(telemetry::Own("kgpu_gpu_lent"), page);
  for (const loans::Loan& loan : state.loans) {
    for (const device::GpuUuid& gpu : loan.gpus) {
      page.Sample({{"uuid", gpu.str()}, {"holder", loan.holder}}, 1);
    }
  }
}

metrics::Histogram HistogramOf(const plugin::LatencyCounts& counts) {
  return {.bounds = plugin::kLatencyBounds, .samples = counts.calls, .sum = counts.seconds};
}

void AddLatency(const AgentState& state, Exposition& page) {
  Begin(telemetry::Own("kgpu_allocation_duration_seconds"), page);
  for (const plugin::EndpointStatus& endpoint : state.endpoints) {
    page.Sample({{"resource", endpoint.resource}}, HistogramOf(endpoint.counts.allocation_latency));
  }
  Begin(telemetry::Own("kgpu_preferred_allocation_duration_seconds"), page);
  for (const plugin::EndpointStatus& endpoint : state.endpoints) {
    page.Sample({{"resource", endpoint.resource}}, HistogramOf(endpoint.counts.preference_latency));
  }
}

void AddEndpoints(const AgentState& state, Exposition& page) {
  Begin(telemetry::Own("kgpu_resource_registered"), page);
  for (const plugin::EndpointStatus& endpoint : state.endpoints) {
    page.Sample({{"resource", endpoint.resource}},
                endpoint.state == plugin::EndpointState::kRegistered ? 1 : 0);
  }
  Begin(telemetry::Own("kgpu_registrations_total"), page);
  for (const plugin::EndpointStatus& endpoint : state.endpoints) {
    page.Sample({{"resource", endpoint.resource}, {"result", "ok"}},
                static_cast<double>(endpoint.registrations));
    page.Sample({{"resource", endpoint.resource}, {"result", "failed"}},
                static_cast<double>(endpoint.failed_registrations));
  }
  Begin(telemetry::Own("kgpu_allocations_total"), page);
  for (const plugin::EndpointStatus& endpoint : state.endpoints) {
    page.Sample({{"resource", endpoint.resource}, {"result", "ok"}},
                static_cast<double>(endpoint.counts.allocations));
    page.Sample({{"resource", endpoint.resource}, {"result", "refused"}},
                static_cast<double>(endpoint.counts.failed_allocations));
  }
  AddLatency(state, page);
  Begin(telemetry::Own("kgpu_lists_sent_total"), page);
  for (const plugin::EndpointStatus& endpoint : state.endpoints) {
    page.Sample({{"resource", endpoint.resource}}, static_cast<double>(endpoint.counts.lists_sent));
  }
}

void AddKept(const AgentState& state, Exposition& page) {
  Begin(telemetry::Own("kgpu_health_journal_ok"), page);
  page.Sample(state.journal_problem.empty() ? 1 : 0);
  Begin(telemetry::Own("kgpu_usage_ledger_ok"), page);
  page.Sample(state.usage_problem.empty() ? 1 : 0);
  Begin(telemetry::Own("kgpu_loan_ledger_ok"), page);
  page.Sample(state.loan_problem.empty() ? 1 : 0);
  Begin(telemetry::Own("kgpu_agent_memory_ok"), page);
  page.Sample(state.memory_problem.empty() ? 1 : 0);
  Begin(telemetry::Own("kgpu_next_kernel_ok"), page);
  page.Sample(state.kernel_problem.empty() ? 1 : 0);
}

void AddProcess(const AgentState& state, const ProcessUse& use, Exposition& page) {
  Begin(telemetry::Own("process_cpu_seconds_total"), page);
  page.Sample(use.cpu_seconds);
  Begin(telemetry::Own("process_resident_memory_bytes"), page);
  page.Sample(static_cast<double>(use.resident_bytes));
  Begin(telemetry::Own("process_open_fds"), page);
  page.Sample(static_cast<double>(use.open_fds));
  Begin(telemetry::Own("process_max_fds"), page);
  page.Sample(static_cast<double>(use.max_fds));
  Begin(telemetry::Own("process_start_time_seconds"), page);
  page.Sample(std::chrono::duration<double>(state.started.time_since_epoch()).count());
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
  AddLocal(state, page);
  AddEndpoints(state, page);
  AddKept(state, page);
  AddProcess(state, use, page);
}

std::string OwnMetrics(const AgentState& state, const ProcessUse& use, std::string_view version) {
  Exposition page;
  WriteOwnMetrics(state, use, version, page);
  return page.Take();
}

}  // namespace kgpu::agent
