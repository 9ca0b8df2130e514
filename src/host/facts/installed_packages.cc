#include "src/host/facts/installed_packages.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <vector>

#include "src/platform/base/ascii.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/find_program.h"

namespace kgpu::host {
namespace {

// "Name: value"; empty for another field.
std::string_view FieldOf(std::string_view line, std::string_view name) {
  if (!line.starts_with(name) || !line.substr(name.size()).starts_with(':')) {
    return {};
  }
  return Trim(line.substr(name.size() + 1));
}

struct Paragraph {
  std::string_view name;
  std::string_view status;
  std::string_view version;
};

constexpr std::array<std::string_view, 5> kHere = {
    "installed", "triggers-awaited", "triggers-pending", "half-configured", "unpacked"};
constexpr std::array<std::string_view, 2> kUnfinished = {"half-configured", "unpacked"};

void Keep(const Paragraph& paragraph, Packages& packages) {
  const std::vector<std::string_view> status = Words(paragraph.status);
  const bool is_here = status.size() == 3 && std::ranges::find(kHere, status[2]) != kHere.end();
  if (paragraph.name.empty() || !is_here) {
    return;
  }
  packages[std::string(paragraph.name)] = {
      std::string(paragraph.version), status[0] == "hold",
      std::ranges::find(kUnfinished, status[2]) != kUnfinished.end()};
}

// How Debian, Ubuntu, RPM Fusion, SUSE and NVIDIA's own repositories name the driver's packages.
constexpr std::array<std::string_view, 10> kDriverNames = {
    "nvidia-open",           "nvidia-alternative",      "nvidia-cuda-mps", "nvidia-libopencl1",
    "nvidia-opencl-common",  "nvidia-opencl-icd",       "nvidia-support",  "nvidia-vdpau-driver",
    "nvidia-suspend-common", "nvidia-installer-cleanup"};
constexpr std::array<std::string_view, 54> kDriverStarts = {
    // kernel modules and firmware
    "akmod-nvidia", "firmware-nvidia-gsp", "firmware-nvidia-tesla-", "kernel-firmware-nvidia-gsp",
    "kmod-nvidia", "linux-modules-nvidia-", "linux-objects-nvidia-", "linux-signatures-nvidia-",
    "nvidia-dkms", "nvidia-firmware-", "nvidia-gfxG", "nvidia-kernel-", "nvidia-kmod",
    "nvidia-open-",
    // libraries
    "libcuda1", "libcudadebugger", "libegl-nvidia", "libgl1-nvidia", "libgles-nvidia",
    "libglx-nvidia", "libnvcuvid", "libnvfbc", "libnvidia-", "libnvoptix", "libnvsdm",
    "libxnvctrl0", "nvidia-libXNVCtrl",
    // programs, services and metapackages
    "cuda-drivers", "dnf-plugin-nvidia", "glx-alternative-nvidia", "nvidia-common-",
    "nvidia-compute", "nvidia-driver", "nvidia-egl-", "nvidia-fabric", "nvidia-gl",
    "nvidia-headless-", "nvidia-imex", "nvidia-legacy-", "nvidia-modprobe", "nvidia-persistenced",
    "nvidia-powerd", "nvidia-settings", "nvidia-smi", "nvidia-tesla-", "nvidia-utils-",
    "nvidia-video", "nvidia-vulkan-", "nvidia-xconfig", "x11-video-nvidia", "xorg-x11-drv-nvidia",
    "xorg-x11-nvidia", "xserver-xorg-video-nvidia", "yum-plugin-nvidia"};
// Of the container toolkit, of the CUDA toolkit, and of projects with versions of their own.
constexpr std::array<std::string_view, 4> kOtherStarts = {
    "libnvidia-container", "libnvidia-egl-", "libnvidia-ml-dev", "nvidia-driver-assistant"};

bool StartsWithAny(std::string_view name, std::span<const std::string_view> starts) {
  return std::ranges::any_of(starts,
                             [name](std::string_view start) { return name.starts_with(start); });
}

}  // namespace

Packages ParseDpkgStatus(std::string_view text) {
  Packages packages;
  Paragraph paragraph;
  for (const std::string_view line : Split(text, '\n')) {
    if (Trim(line).empty()) {
      Keep(paragraph, packages);
      paragraph = {};
    } else if (const std::string_view name = FieldOf(line, "Package"); !name.empty()) {
      paragraph.name = name;
    } else if (const std::string_view status = FieldOf(line, "Status"); !status.empty()) {
      paragraph.status = status;
    } else if (const std::string_view version = FieldOf(line, "Version"); !version.empty()) {
      paragraph.version = version;
    }
  }
  Keep(paragraph, packages);
  return packages;
}

Packages ParseRpmList(std::string_view text) {
  Packages packages;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> fields = Split(Trim(line), '\t');
    if (fields.size() == 2 && !fields[0].empty() && !fields[1].empty()) {
      packages[std::string(fields[0])] = {std::string(fields[1]), false};
    }
  }
  return packages;
}

StatusOr<Packages> AskRpm(const sys::Root& host, sys::ProgramRunner& runner,
                          const std::string& pattern) {
  sys::RunRequest request;
  request.argv = {sys::FindProgram(host, "rpm"), "-qa", "--queryformat",
                  "%{NAME}\\t%{VERSION}-%{RELEASE}\\n", pattern};
  request.root = host.path();
  request.deadline = std::chrono::seconds{60};
  request.output_limit = kPackagesLimit;
  if (request.argv[0].empty()) {
    return NotFound("rpm not found");
  }
  ASSIGN_OR_RETURN(const sys::RunResult result, runner.Run(request));
  return result.IsSuccess() ? StatusOr<Packages>(ParseRpmList(result.out))
                            : FailedPrecondition("rpm: {}", sys::Describe(result));
}

bool IsDriverPackage(std::string_view name) {
  if (std::ranges::find(kDriverNames, name) != kDriverNames.end()) {
    return true;
  }
  // Ubuntu's of its first branches: "nvidia-340".
  constexpr std::string_view kNvidia = "nvidia-";
  const bool is_branch =
      name.starts_with(kNvidia) && name.size() > kNvidia.size() && IsDigit(name[kNvidia.size()]);
  return is_branch || (StartsWithAny(name, kDriverStarts) && !StartsWithAny(name, kOtherStarts));
}

bool IsModulePackage(std::string_view name) {
  constexpr std::array<std::string_view, 11> kStarts = {
      "nvidia-kernel-dkms",   "nvidia-open-kernel-dkms", "nvidia-kernel-open-dkms",
      "nvidia-dkms",          "linux-modules-nvidia-",   "kmod-nvidia",
      "nvidia-open-driver-G", "nvidia-driver-G",         "nvidia-gfxG",
      "akmod-nvidia",         "nvidia-open-kmod"};
  // Debian's of older branches: "nvidia-tesla-470-kernel-dkms", "nvidia-legacy-390xx-kernel-dkms".
  const bool is_older = (name.starts_with("nvidia-tesla-") || name.starts_with("nvidia-legacy-")) &&
                        name.ends_with("kernel-dkms");
  return is_older || StartsWithAny(name, kStarts);
}

std::string UpstreamVersion(std::string_view version) {
  if (const size_t colon = version.find(':'); colon != std::string_view::npos) {
    version.remove_prefix(colon + 1);
  }
  return std::string(version.substr(0, version.find_first_of("-~+_")));
}

}  // namespace kgpu::host
