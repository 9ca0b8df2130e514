#include "src/functions/service/meter.h"

#include <algorithm>

namespace kgpu::functions {
namespace {

using metrics::Exposition;
using metrics::Type;

constexpr int kFirstFailure = 400;

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void BucketCounts::Add(double value) {
  const auto* bound = std::ranges::lower_bound(kCallBounds, value);
  ++samples.at(static_cast<size_t>(bound - kCallBounds.begin()));
  sum += value;
}

void Meter::OnCallStarted(const std::string& function) {
  Counters& counters = functions_[function];
  ++counters.started;
  ++counters.in_flight;
}

void Meter::OnCallEnded(const std::string& function, int code, std::chrono::nanoseconds time,
                        WallTime now) {
  Counters& counters = functions_[function];
  --counters.in_flight;
  ++counters.calls[code];
  counters.seconds[code].Add(Seconds(time));
  hours_.Add(function,
             {.calls = 1, .errors = code >= kFirstFailure ? 1U : 0U, .call_seconds = Seconds(time)},
             now);
}

void Meter::OnColdStart(const std::string& function, const PhaseTimes& phases, WallTime now) {
  Counters& counters = functions_[function];
  ++counters.cold_starts;
  for (size_t i = 0; i < kStartPhases; ++i) {
    counters.phases.at(i).Add(Seconds(phases.at(i)));
  }
  hours_.Add(function, {.cold_starts = 1}, now);
}

void Meter::OnStartFailed(const std::string& function, std::string_view reason) {
  ++functions_[function].failed_starts[std::string(reason)];
}

void Meter::OnGpuTime(const std::string& function, double busy_seconds, double held_seconds,
                      WallTime now) {
  Counters& counters = functions_[function];
  counters.gpu_busy += busy_seconds;
  counters.gpu_held += held_seconds;
  hours_.Add(function, {.gpu_busy_seconds = busy_seconds, .gpu_held_seconds = held_seconds}, now);
}

void Meter::SetReplicas(const std::string& function, const ReplicaCounts& counts, int64_t waiting) {
  Counters& counters = functions_[function];
  counters.replicas = counts;
  counters.waiting = waiting;
}

int64_t Meter::in_flight(const std::string& function) const {
  const auto found = functions_.find(function);
  return found == functions_.end() ? 0 : found->second.in_flight;
}

uint64_t Meter::calls(const std::string& function) const {
  const auto found = functions_.find(function);
  uint64_t calls = 0;
  if (found != functions_.end()) {
    for (const auto& [code, count] : found->second.calls) {
      calls += count;
    }
  }
  return calls;
}

std::string Meter::Page(metrics::Format format) const {
  Exposition page(format);
  WriteCalls(page);
  WriteReplicas(page);
  WriteStarts(page);
  WriteGpus(page);
  return page.Take();
}

// OpenFaaS' names, so that its dashboards and alerts work.
void Meter::WriteCalls(Exposition& page) const {
  page.Family("gateway_function_invocation_total", Type::kCounter,
              "Calls that have ended, by the code that the caller got; 499: the caller left");
  for (const auto& [name, counters] : functions_) {
    for (const auto& [code, count] : counters.calls) {
      page.Sample({{"function_name", name}, {"code", std::to_string(code)}},
                  static_cast<double>(count));
    }
  }
  page.Family("gateway_function_invocation_started", Type::kCounter, "Calls that have arrived");
  for (const auto& [name, counters] : functions_) {
    page.Sample({{"function_name", name}}, static_cast<double>(counters.started));
  }
  page.Family("gateway_functions_seconds", Type::kHistogram,
              "Time from a call's arrival to the end of its answer, cold starts included");
  for (const auto& [name, counters] : functions_) {
    for (const auto& [code, seconds] : counters.seconds) {
      page.Sample({{"function_name", name}, {"code", std::to_string(code)}},
                  {.bounds = kCallBounds, .samples = seconds.samples, .sum = seconds.sum});
    }
  }
  page.Family("kgpu_function_calls_in_flight", Type::kGauge, "Calls that have not ended");
  for (const auto& [name, counters] : functions_) {
    page.Sample({{"function_name", name}}, static_cast<double>(counters.in_flight));
  }
  page.Family("kgpu_function_calls_waiting", Type::kGauge, "Calls that wait for a replica");
  for (const auto& [name, counters] : functions_) {
    page.Sample({{"function_name", name}}, static_cast<double>(counters.waiting));
  }
}

void Meter::WriteReplicas(Exposition& page) const {
  page.Family("gateway_service_count", Type::kGauge, "Replicas that take calls");
  for (const auto& [name, counters] : functions_) {
    page.Sample({{"function_name", name}}, static_cast<double>(counters.replicas.running));
  }
  page.Family("kgpu_function_replicas", Type::kGauge, "Replicas by state");
  for (const auto& [name, counters] : functions_) {
    const ReplicaCounts& counts = counters.replicas;
    page.Sample({{"function_name", name}, {"state", "starting"}},
                static_cast<double>(counts.starting));
    page.Sample({{"function_name", name}, {"state", "running"}},
                static_cast<double>(counts.running));
    page.Sample({{"function_name", name}, {"state", "draining"}},
                static_cast<double>(counts.draining));
  }
}

void Meter::WriteStarts(Exposition& page) const {
  page.Family("kgpu_function_cold_starts_total", Type::kCounter,
              "Replicas that were started and became ready");
  for (const auto& [name, counters] : functions_) {
    page.Sample({{"function_name", name}}, static_cast<double>(counters.cold_starts));
  }
  page.Family("kgpu_function_cold_start_seconds", Type::kHistogram,
              "Time of a replica's start, by phase");
  for (const auto& [name, counters] : functions_) {
    for (size_t i = 0; counters.cold_starts > 0 && i < kStartPhases; ++i) {
      const BucketCounts& phase = counters.phases.at(i);
      page.Sample({{"function_name", name}, {"phase", phases_.at(i)}},
                  {.bounds = kCallBounds, .samples = phase.samples, .sum = phase.sum});
    }
  }
  page.Family("kgpu_function_failed_starts_total", Type::kCounter,
              "Replicas that did not become ready, by the step that failed");
  for (const auto& [name, counters] : functions_) {
    for (const auto& [reason, count] : counters.failed_starts) {
      page.Sample({{"function_name", name}, {"reason", reason}}, static_cast<double>(count));
    }
  }
}

void Meter::WriteGpus(Exposition& page) const {
  page.Family("kgpu_function_gpus", Type::kGauge, "GPUs that are lent to the function");
  for (const auto& [name, counters] : functions_) {
    page.Sample({{"function_name", name}}, static_cast<double>(counters.replicas.gpus));
  }
  page.Family("kgpu_function_gpu_busy_seconds_total", Type::kCounter,
              "GPU time during which the GPU's replica had a call");
  for (const auto& [name, counters] : functions_) {
    page.Sample({{"function_name", name}}, counters.gpu_busy);
  }
  page.Family("kgpu_function_gpu_held_seconds_total", Type::kCounter,
              "GPU time during which a GPU was lent to the function");
  for (const auto& [name, counters] : functions_) {
    page.Sample({{"function_name", name}}, counters.gpu_held);
  }
}

}  // namespace kgpu::functions
