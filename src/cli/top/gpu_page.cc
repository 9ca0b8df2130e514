// All that is known about one GPU, for a page of its own.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "src/cli/top/figures.h"
#include "src/cli/top/node_items.h"
#include "src/cli/top/node_view.h"
#include "src/platform/base/strings.h"

namespace kgpu::top {
namespace {

using terminal::Look;
using terminal::Safe;

class PageBuilder {
 public:
  explicit PageBuilder(const Look& look) : look_(look) {}

  // Left out without a value.
  void Add(std::string_view name, std::string_view value) {
    if (!value.empty() && value != "-") {
      lines_.push_back(Safe(fmt::format("{:<12}{}", name, value), look_));
    }
  }
  void AddLine(std::string_view text) { lines_.push_back(Safe(text, look_)); }
  std::vector<std::string> Take() { return std::move(lines_); }

 private:
  const Look& look_;
  std::vector<std::string> lines_;
};

std::string HealthOf(bool is_healthy, const std::string& reason) {
  return is_healthy ? "healthy" : reason.empty() ? "unhealthy" : "unhealthy: " + reason;
}

void AddFigures(const LiveGpu& gpu, const Look& look, PageBuilder& page) {
  constexpr size_t kGraph = 40;
  std::string utilization = PercentText(gpu.utilization);
  if (gpu.memory_utilization) {
    utilization += fmt::format(", memory interface {}", PercentText(gpu.memory_utilization));
  }
  if (gpu.encoder.value_or(0) > 0 || gpu.decoder.value_or(0) > 0) {
    utilization +=
        fmt::format(", encoder {}, decoder {}", PercentText(gpu.encoder), PercentText(gpu.decoder));
  }
  page.Add("utilization", utilization);
  page.Add("", gpu.history.utilization.empty() ? "" : Graph(gpu.history.utilization, kGraph, look));
  page.Add("memory", MemoryText(gpu.memory_used, gpu.memory_total));
  page.Add("", gpu.history.memory.empty() ? "" : Graph(gpu.history.memory, kGraph, look));
  std::string temperature = TemperatureText(gpu.temperature);
  if (gpu.memory_temperature) {
    temperature += ", memory " + TemperatureText(gpu.memory_temperature);
  }
  if (gpu.slowdown_temperature) {
    temperature += ", slows down at " + TemperatureText(gpu.slowdown_temperature);
  }
  page.Add("temperature", temperature);
  page.Add("power", PowerText(gpu.watts, gpu.watts_limit));
  if (gpu.sm_clock) {
    page.Add("clocks", fmt::format("SM {}{} MHz, memory {} MHz", *gpu.sm_clock,
                                   gpu.max_sm_clock ? fmt::format(" of {}", *gpu.max_sm_clock) : "",
                                   gpu.memory_clock.value_or(0)));
  }
  page.Add("throttled", Join(gpu.throttled, ", "));
}

void AddLinks(const LiveGpu& gpu, PageBuilder& page) {
  std::string links;
  for (const NvLink& link : gpu.nvlinks) {
    links += fmt::format("{}GPU {} ({})", links.empty() ? "" : ", ", link.peer, link.links);
  }
  page.Add("NVLink to", links);
}

void AddUsers(const std::vector<User>& users, std::string_view device, PageBuilder& page) {
  for (const User& user : users) {
    page.Add("used by", fmt::format("{}  {}  {}{}", user.PodName(), user.container,
                                    MemoryText(user.used, user.limit),
                                    device.empty() ? "" : fmt::format("  on {}", device)));
  }
}

}  // namespace

std::vector<std::string> GpuPage(const LiveDocument& document, const std::string& uuid,
                                 const Look& look) {
  const auto gpu = std::ranges::find(document.gpus, uuid, &LiveGpu::uuid);
  if (gpu == document.gpus.end()) {
    return {};
  }
  PageBuilder page(look);
  page.Add("health", HealthOf(gpu->is_healthy, gpu->reason));
  page.Add("", gpu->message);
  for (const std::string& warning : gpu->warnings) {
    page.Add("warning", warning);
  }
  page.Add("UUID", gpu->uuid);
  page.Add("PCI", gpu->pci);
  if (const std::optional<int64_t>& node = gpu->numa_node; node) {
    page.Add("NUMA node", fmt::format("{}", *node));
  }
  page.Add("pool", gpu->pool);
  AddFigures(*gpu, look, page);
  AddLinks(*gpu, page);
  page.Add("used by", gpu->lent_to.empty() ? "" : BorrowerText(gpu->lent_to));
  AddUsers(gpu->users, "", page);
  for (const MigDevice& mig : gpu->mig) {
    page.Add("MIG", fmt::format("{}:{} {}  {}  {}  {}", gpu->index, mig.index, mig.profile,
                                MemoryText(mig.memory_used, mig.memory_total),
                                HealthOf(mig.is_healthy, mig.reason), mig.uuid));
    page.Add("", mig.message);
    AddUsers(mig.users, fmt::format("{}:{}", gpu->index, mig.index), page);
  }
  for (const Process& process : gpu->processes) {
    page.Add("process",
             fmt::format("{} {}  {}", process.pid, process.name, MemoryText(process.memory, {})));
  }
  return page.Take();
}

}  // namespace kgpu::top
