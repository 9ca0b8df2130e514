// What a display needs besides computing: asked for, never the default.
#include <fmt/format.h>

#include "src/driver/common_steps.h"
#include "src/driver/pages.h"

namespace kgpu::driver {
namespace {

constexpr std::string_view kXFile = "/etc/X11/xorg.conf.d/20-kgpu-nvidia.conf";
constexpr std::string_view kXText =
    "# Written by kgpu: the X server draws with NVIDIA's driver.\n"
    "Section \"OutputClass\"\n"
    "    Identifier \"nvidia\"\n"
    "    MatchDriver \"nvidia-drm\"\n"
    "    Driver \"nvidia\"\n"
    "    Option \"AllowEmptyInitialConfiguration\"\n"
    "EndSection\n";
constexpr std::string_view kModesetFile = "/etc/modprobe.d/kgpu-nvidia-drm.conf";

std::vector<std::string> DisplayPackages(const Planning& planning) {
  const bool is_own = planning.choice.source == SourceKind::kDistribution;
  const unsigned branch = planning.choice.branch();
  switch (planning.facts.distribution.family) {
    case Family::kDebian:
      return is_own ? std::vector<std::string>{"xserver-xorg-video-nvidia", "nvidia-driver-libs"}
                    : std::vector<std::string>{"nvidia-driver"};
    case Family::kUbuntu:
      return is_own ? std::vector<std::string>{fmt::format("xserver-xorg-video-nvidia-{}-server",
                                                           branch),
                                               fmt::format("libnvidia-gl-{}-server", branch)}
                    : std::vector<std::string>{fmt::format("xserver-xorg-video-nvidia-{}", branch),
                                               fmt::format("libnvidia-gl-{}", branch)};
    case Family::kRhel:
    case Family::kFedora:
    case Family::kAmazon:
      return {"nvidia-driver"};
    case Family::kSuse:
      return {"nvidia-video-G06", "nvidia-gl-G06"};
    case Family::kOther:
      break;
  }
  return {};
}

}  // namespace

void AddDisplaySteps(Planning& planning) {
  if (planning.choice.source != SourceKind::kRunFile) {
    AddStep(planning.plan, "display-packages", "install what draws on a display",
            planning.traits.page, InstallPackages{DisplayPackages(planning)});
  }
  AddStep(planning.plan, "display-modeset", "let the kernel set the display's mode",
          pages::kPostInstall,
          WriteFile{.path = std::string(kModesetFile), .text = "options nvidia-drm modeset=1\n"});
  AddStep(planning.plan, "display-config", "tell the X server of the driver", pages::kPostInstall,
          WriteFile{.path = std::string(kXFile), .text = std::string(kXText)});
}

}  // namespace kgpu::driver
