#include "src/agent/own_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "src/metrics/exposition.h"
#include "src/sys/root.h"

namespace kgpu::agent {
namespace {

using metrics::Exposition;
using metrics::Type;

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

uint64_t ResidentBytes() {
  // The second number of /proc/self/statm, in pages. Source: proc(5).
  const auto root = sys::Root::Open("/");
  const auto text = root.ok() ? root->ReadFile("proc/self/statm") : root.status();
  if (!text.ok()) {
    return 0;
  }
  const size_t blank = text->find(' ');
  const uint64_t pages =
      blank == std::string::npos ? 0 : std::strtoull(text->c_str() + blank + 1, nullptr, 10);
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void AddAgent(const AgentState& state, std::string_view version, Exposition& page) {
  page.Family("kgpu_build_info", Type::kGauge, "The version of kgpu; always 1.");
  page.Sample({{"version", version}}, 1);
  page.Family("kgpu_start_time_seconds", Type::kGauge, "When the agent started, Unix time.");
  page.Sample(std::chrono::duration<double>(state.started.time_since_epoch()).count());
  std::string why;
  page.Family("kgpu_ready", Type::kGauge,
              "Whether pods can get GPUs: configured, driver ready, every resource registered.");
  page.Sample(IsReady(state, &why) ? 1 : 0);
  page.Family("kgpu_config_ok", Type::kGauge,
              "Whether the configuration in force is what its file says.");
  page.Sample(state.has_config && state.config_problem.empty() ? 1 : 0);
  page.Family("kgpu_driver_ready", Type::kGauge, "Whether NVIDIA's library answers.");
  page.Sample(state.snapshot && state.snapshot->driver.state == device::DriverState::kReady ? 1
                                                                                            : 0);
}

void AddResources(const AgentState& state, Exposition& page) {
  page.Family("kgpu_resource_devices", Type::kGauge,
              "Devices of a resource as the kubelet counts them, by health.");
  for (const pools::Resource& resource : state.assignment.resources) {
    const auto healthy = std::ranges::count_if(
        resource.slots, [](const pools::Slot& slot) { return slot.health.is_healthy; });
    page.Sample({{"resource", resource.name}, {"health", "healthy"}}, static_cast<double>(healthy));
    page.Sample({{"resource", resource.name}, {"health", "unhealthy"}},
                static_cast<double>(resource.slots.size()) - static_cast<double>(healthy));
  }
  page.Family("kgpu_unassigned_devices", Type::kGauge, "Devices that no pool takes.");
  page.Sample(static_cast<double>(state.assignment.unassigned.size()));
}

void AddEndpoints(const AgentState& state, Exposition& page) {
  page.Family("kgpu_resource_registered", Type::kGauge,
              "Whether the kubelet reads the resource's list of devices.");
  for (const plugin::EndpointStatus& endpoint : state.endpoints) {
    page.Sample({{"resource", endpoint.resource}},
                endpoint.state == plugin::EndpointState::kRegistered ? 1 : 0);
  }
  page.Family("kgpu_registrations_total", Type::kCounter,
              "Registrations with the kubelet, by outcome.");
  for (const plugin::EndpointStatus& endpoint : state.endpoints) {
    page.Sample({{"resource", endpoint.resource}, {"result", "ok"}},
                static_cast<double>(endpoint.registrations));
    page.Sample({{"resource", endpoint.resource}, {"result", "failed"}},
                static_cast<double>(endpoint.failed_registrations));
  }
  page.Family("kgpu_allocations_total", Type::kCounter, "Answers to Allocate, by outcome.");
  for (const plugin::EndpointStatus& endpoint : state.endpoints) {
    page.Sample({{"resource", endpoint.resource}, {"result", "ok"}},
                static_cast<double>(endpoint.counts.allocations));
    page.Sample({{"resource", endpoint.resource}, {"result", "refused"}},
                static_cast<double>(endpoint.counts.failed_allocations));
  }
  page.Family("kgpu_lists_sent_total", Type::kCounter, "Lists of devices sent to the kubelet.");
  for (const plugin::EndpointStatus& endpoint : state.endpoints) {
    page.Sample({{"resource", endpoint.resource}}, static_cast<double>(endpoint.counts.lists_sent));
  }
}

void AddProcess(const ProcessUse& use, Exposition& page) {
  page.Family("process_cpu_seconds_total", Type::kCounter, "getrusage: user and system time.");
  page.Sample(use.cpu_seconds);
  page.Family("process_resident_memory_bytes", Type::kGauge, "/proc/self/statm.");
  page.Sample(static_cast<double>(use.resident_bytes));
  page.Family("process_open_fds", Type::kGauge, "/proc/self/fd.");
  page.Sample(static_cast<double>(use.open_fds));
}

}  // namespace

ProcessUse OwnUse() {
  ProcessUse use;
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  use.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  use.resident_bytes = ResidentBytes();
  std::error_code error;
  for (std::filesystem::directory_iterator fds("/proc/self/fd", error), end; !error && fds != end;
       fds.increment(error)) {
    ++use.open_fds;
  }
  return use;
}

std::string OwnMetrics(const AgentState& state, const ProcessUse& use, std::string_view version) {
  Exposition page;
  AddAgent(state, version, page);
  AddResources(state, page);
  AddEndpoints(state, page);
  AddProcess(use, page);
  return page.text();
}

}  // namespace kgpu::agent
