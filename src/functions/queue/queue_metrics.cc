#include "src/functions/queue/queue_metrics.h"

#include <chrono>

namespace kgpu::functions {

std::string QueueMetrics(const std::map<std::string, FunctionCounts>& counts, WallTime now,
                         metrics::Format format) {
  using metrics::Type;
  metrics::Exposition page(format);
  const auto family = [&](std::string_view name, Type type, std::string_view help, auto value) {
    page.Family(name, type, help);
    for (const auto& [function, count] : counts) {
      page.Sample({{"function_name", function}}, static_cast<double>(value(count)));
    }
  };
  family("kgpu_function_queue_waiting", Type::kGauge, "Asynchronous calls that wait",
         [](const FunctionCounts& count) { return count.waiting; });
  family("kgpu_function_queue_running", Type::kGauge, "Asynchronous calls under way",
         [](const FunctionCounts& count) { return count.running; });
  family("kgpu_function_queue_dead", Type::kGauge, "Asynchronous calls that have failed for good",
         [](const FunctionCounts& count) { return count.dead; });
  family("kgpu_function_queue_oldest_seconds", Type::kGauge,
         "Age of the oldest asynchronous call that has not ended",
         [now](const FunctionCounts& count) {
           return count.oldest ? std::chrono::duration<double>(now - *count.oldest).count() : 0.0;
         });
  family("kgpu_function_queue_retries_total", Type::kCounter,
         "Attempts of asynchronous calls that were put off to be made again",
         [](const FunctionCounts& count) { return count.retries; });
  return page.Take();
}

}  // namespace kgpu::functions
