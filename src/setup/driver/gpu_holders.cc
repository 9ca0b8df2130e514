#include "src/setup/driver/gpu_holders.h"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::driver {
namespace {

constexpr std::array<std::string_view, 7> kUnits = {
    "kgpu-agent.service",    "display-manager.service",     "nvidia-dcgm.service",
    "nvidia-powerd.service", "nvidia-persistenced.service", "nvidia-fabricmanager.service",
    "nvidia-imex.service"};

bool HasUnit(const sys::Root& host, std::string_view unit) {
  constexpr std::array<std::string_view, 3> kFolders = {
      "etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"};
  return std::ranges::any_of(kFolders, [&host, unit](std::string_view folder) {
    return host.LinkStat(fmt::format("{}/{}", folder, unit)).ok();
  });
}

bool HoldsGpu(const sys::Root& host, const std::string& process) {
  const std::string folder = fmt::format("{}/fd", process);
  const auto names = host.ListDir(folder);
  if (!names.ok()) {
    return false;
  }
  return std::ranges::any_of(*names, [&host, &folder](const std::string& name) {
    const auto target = host.ReadLink(fmt::format("{}/{}", folder, name));
    return target.ok() && target->starts_with("/dev/nvidia");
  });
}

// The path of the one hierarchy, or of systemd's own where there are several: "0::/system.slice/x"
// and "1:name=systemd:/system.slice/x".
std::string CgroupOf(std::string_view text) {
  std::string found;
  for (const std::string_view line : Split(text, '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) {
      continue;
    }
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controllers == "name=systemd" || (controllers.empty() && found.empty())) {
      found = Trim(line.substr(second + 1));
    }
  }
  return found;
}

}  // namespace

bool GpuHolder::IsOf(const std::vector<std::string>& units) const {
  return std::ranges::any_of(units, [this](const std::string& unit) {
    const size_t at = cgroup.find(fmt::format("/{}", unit));
    const size_t end = at + unit.size() + 1;
    return at != std::string::npos && (end == cgroup.size() || cgroup[end] == '/');
  });
}

std::vector<GpuHolder> FindGpuHolders(const sys::Root& host) {
  std::vector<GpuHolder> holders;
  for (const std::string& name : host.ListDir("proc").value_or(std::vector<std::string>())) {
    const auto pid = ParseUint(name);
    const std::string process = fmt::format("proc/{}", name);
    if (!pid || !HoldsGpu(host, process)) {
      continue;
    }
    GpuHolder holder;
    holder.pid = static_cast<pid_t>(*pid);
    holder.name = Printable(Trim(host.ReadFile(process + "/comm").value_or("")), 40);
    holder.cgroup = CgroupOf(host.ReadFile(process + "/cgroup").value_or(""));
    holders.push_back(std::move(holder));
  }
  std::ranges::sort(holders, {}, &GpuHolder::pid);
  return holders;
}

StatusOr<std::vector<std::string>> FindGpuUnits(const sys::Root& host, const std::string& systemctl,
                                                sys::ProgramRunner& runner) {
  std::vector<std::string> units;
  for (const std::string_view unit : kUnits) {
    if (HasUnit(host, unit)) {
      units.emplace_back(unit);
    }
  }
  if (units.empty()) {
    return units;
  }
  ASSIGN_OR_RETURN(const sys::RunResult result,
                   runner.Run(sys::RequestOf(host, Concat({systemctl, "is-active"}, units),
                                             std::chrono::seconds{30})));
  // A line for each; that it fails says only that one of them does not run.
  const std::vector<std::string_view> states = Split(result.out, '\n');
  std::vector<std::string> running;
  for (size_t i = 0; i < units.size() && i < states.size(); ++i) {
    const std::string_view state = Trim(states[i]);
    if (state == "active" || state == "activating" || state == "reloading") {
      running.push_back(units[i]);
    }
  }
  return running;
}

}  // namespace kgpu::driver
