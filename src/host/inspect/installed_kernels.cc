#include "src/host/inspect/installed_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "src/platform/base/strings.h"

namespace kgpu::host {
namespace {

constexpr size_t kMostDependencies = size_t{16} << 20;

uint64_t TakeNumber(std::string_view text, size_t& at) {
  uint64_t number = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    number = number * 10 + static_cast<uint64_t>(text[at++] - '0');
  }
  return number;
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// Packages of kernels bring the list of what is built in; an image alone does where it is missing.
bool IsKernel(const sys::Root& host, const std::string& release) {
  return host.Exists(fmt::format("lib/modules/{}/modules.builtin", release)) ||
         host.Exists(fmt::format("lib/modules/{}/vmlinuz", release)) ||
         host.Exists(fmt::format("boot/vmlinuz-{}", release));
}

std::string FindDriverModule(const sys::Root& host, const std::string& release) {
  const std::string folder = fmt::format("lib/modules/{}", release);
  const auto list = host.ReadFile(folder + "/modules.dep", kMostDependencies);
  if (!list.ok()) {
    return "";
  }
  for (const std::string_view line : Split(*list, '\n')) {
    const std::string_view path = line.substr(0, line.find(':'));
    if (IsDriverModule(ModuleNameOf(path))) {
      return fmt::format("/{}/{}", folder, path);
    }
  }
  return "";
}

}  // namespace

bool IsOlderKernel(std::string_view left, std::string_view right) {
  size_t i = 0;
  size_t j = 0;
  while (i < left.size() && j < right.size()) {
    if (IsDigit(left[i]) && IsDigit(right[j])) {
      const uint64_t a = TakeNumber(left, i);
      const uint64_t b = TakeNumber(right, j);
      if (a != b) {
        return a < b;
      }
    } else if (left[i] != right[j]) {
      return left[i] < right[j];
    } else {
      ++i;
      ++j;
    }
  }
  return left.size() - i < right.size() - j;
}

std::string ModuleNameOf(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  std::string text(name.substr(0, name.find(".ko")));
  std::ranges::replace(text, '-', '_');
  return text;
}

// Debian calls the module nvidia-current, nvidia-current-open, nvidia-tesla-470 and the like, and
// its companions by the same name with an end.
bool IsDriverModule(std::string_view name) {
  const auto starts = [name](std::string_view start) { return name.starts_with(start); };
  const auto ends = [name](std::string_view end) { return name.ends_with(end); };
  constexpr std::array<std::string_view, 3> kStarts = {"nvidia_current", "nvidia_tesla",
                                                       "nvidia_legacy"};
  constexpr std::array<std::string_view, 4> kEnds = {"_drm", "_modeset", "_uvm", "_peermem"};
  return name == "nvidia" ||
         (std::ranges::any_of(kStarts, starts) && std::ranges::none_of(kEnds, ends));
}

std::string RunningKernel(const sys::Root& host) {
  return std::string(Trim(host.ReadFile("proc/sys/kernel/osrelease").value_or("")));
}

std::vector<std::string> KernelsWithModules(const sys::Root& host) {
  std::vector<std::string> names = host.ListDir("lib/modules").value_or(std::vector<std::string>());
  std::erase_if(names, [](const std::string& name) { return name.empty() || !IsDigit(name[0]); });
  std::ranges::sort(names, IsOlderKernel);
  return names;
}

std::vector<InstalledKernel> ReadInstalledKernels(const sys::Root& host) {
  std::vector<InstalledKernel> kernels;
  for (const std::string& release : KernelsWithModules(host)) {
    if (IsKernel(host, release)) {
      kernels.push_back(
          {.release = release,
           .nvidia_file = FindDriverModule(host, release),
           .has_headers = host.Exists(fmt::format("lib/modules/{}/build/Makefile", release))});
    }
  }
  return kernels;
}

const InstalledKernel* NextWithoutDriver(const std::vector<InstalledKernel>& kernels,
                                         std::string_view running) {
  const auto now = std::ranges::find(kernels, running, &InstalledKernel::release);
  if (now == kernels.end() || now->nvidia_file.empty()) {
    return nullptr;
  }
  const InstalledKernel& newest = kernels.back();
  return newest.release != running && newest.nvidia_file.empty() ? &newest : nullptr;
}

}  // namespace kgpu::host
