#include "testing/simhost/host_command.h"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "testing/driver/command.h"
#include "testing/driver/faults.h"
#include "testing/simhost/gpu_state.h"
#include "testing/simhost/host_state.h"

namespace kgpu::simhost {
namespace {

using Line = std::vector<std::string_view>;

StatusOr<GpuModel> ModelNamed(const HostFolder& host, std::string_view id) {
  const auto& known = host.profile().models;
  if (const auto found = known.find(std::string(id)); found != known.end()) {
    return found->second;
  }
  ASSIGN_OR_RETURN(const std::string text, BuiltinModelText(id));
  return ParseGpuModel(text, id);
}

StatusOr<std::string> AddModel(const HostFolder& host, sim::SimState& state, const Line& words) {
  ASSIGN_OR_RETURN(const GpuModel model, ModelNamed(host, words[1]));
  ASSIGN_OR_RETURN(const std::unique_ptr<sim::SimGpu> gpu, NewGpu(model, host.settings(), state));
  RETURN_IF_ERROR(sim::AddGpu(state, *gpu).status());
  return fmt::format("{} at {:04x}:{:02x}:{:02x}.0, {}", gpu->name, gpu->pci.domain, gpu->pci.bus,
                     gpu->pci.device, gpu->uuid);
}

StatusOr<std::string> SetLibrary(sim::SimState& state, const Line& words) {
  if (!IsDriverVersion(words[1])) {
    return InvalidArgument("\"{}\" must be a driver version such as 535.104.05",
                           Printable(words[1], 60));
  }
  CopyText(words[1], state.driver.library_version);
  return std::string();
}

StatusOr<sim::SimNvLink*> LinkNamed(sim::SimState& state, const Line& words) {
  ASSIGN_OR_RETURN(const uint32_t slot, sim::FindGpu(state, words[1]));
  sim::SimGpu& gpu = state.gpus[slot];
  const std::optional<uint64_t> number = ParseUint(words[2]);
  if (!number || *number >= gpu.nvlink_count) {
    return NotFound("GPU {} has {} NVLinks; there is no link \"{}\"", words[1], gpu.nvlink_count,
                    Printable(words[2], 60));
  }
  return &gpu.nvlinks[*number];
}

StatusOr<std::string> RaiseLink(sim::SimState& state, const Line& words) {
  ASSIGN_OR_RETURN(sim::SimNvLink* const link, LinkNamed(state, words));
  link->is_active = 1;
  return std::string();
}

StatusOr<std::string> CountLinkErrors(sim::SimState& state, const Line& words) {
  constexpr size_t kCrcFlit = 2;
  ASSIGN_OR_RETURN(sim::SimNvLink* const link, LinkNamed(state, words));
  const std::optional<uint64_t> count = ParseUint(words[4]);
  if (!count) {
    return InvalidArgument("\"{}\" must be a number of errors", Printable(words[4], 60));
  }
  link->errors[kCrcFlit] += *count;
  return std::string();
}

constexpr std::string_view kXidKernelLog = "xid-kernel-log";
constexpr std::string_view kXidDriver = "xid-driver";

std::string Xid(std::string_view arguments) {
  return fmt::format("xid {}", arguments);
}

// The events are made on a copy, and reported by the log alone.
StatusOr<std::string> XidInKernelLog(KernelLog& kernel_log, const sim::SimState& state,
                                     std::string_view arguments) {
  const auto after = std::make_unique<sim::SimState>(state);
  ASSIGN_OR_RETURN(std::string answer, sim::ApplyCommand(*after, Xid(arguments)));
  kernel_log.Notify(state, *after);
  return answer;
}

}  // namespace

StatusOr<std::string> ApplyHostCommand(const HostFolder& host, KernelLog& kernel_log,
                                       sim::SimState& state, std::string_view line) {
  const Line words = Words(line);
  if (!words.empty() && words[0] == kXidKernelLog) {
    return XidInKernelLog(kernel_log, state, line.substr(kXidKernelLog.size()));
  }
  if (!words.empty() && words[0] == kXidDriver) {
    const auto answer = sim::ApplyCommand(state, Xid(line.substr(kXidDriver.size())));
    if (answer.ok()) {
      kernel_log.SkipNext();
    }
    return answer;
  }
  if (words.size() == 2 && words[0] == "add-model") {
    return AddModel(host, state, words);
  }
  if (words.size() == 2 && words[0] == "library") {
    return SetLibrary(state, words);
  }
  if (words.size() == 1 && words[0] == "show") {
    return std::string();  // the server reads host.json before it shows the host
  }
  if (words.size() == 4 && words[0] == "nvlink" && words[3] == "up") {
    return RaiseLink(state, words);
  }
  if (words.size() == 5 && words[0] == "nvlink" && words[3] == "errors") {
    return CountLinkErrors(state, words);
  }
  return sim::ApplyCommand(state, line);
}

}  // namespace kgpu::simhost
