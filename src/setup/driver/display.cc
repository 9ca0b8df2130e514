// What a display needs besides computing: on request, never by default.
#include <utility>

#include <fmt/format.h>

#include "src/setup/driver/apt_steps.h"
#include "src/setup/driver/common_steps.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {
namespace {

constexpr std::string_view kXFile = "/etc/X11/xorg.conf.d/20-kgpu-nvidia.conf";
constexpr std::string_view kXText =
    "# Written by kgpu: makes the X server use NVIDIA's driver.\n"
    "Section \"OutputClass\"\n"
    "    Identifier \"nvidia\"\n"
    "    MatchDriver \"nvidia-drm\"\n"
    "    Driver \"nvidia\"\n"
    "    Option \"AllowEmptyInitialConfiguration\"\n"
    "EndSection\n";
constexpr std::string_view kModesetFile = "/etc/modprobe.d/kgpu-nvidia-drm.conf";

std::vector<std::string> UbuntuPackages(const Choice& choice) {
  const unsigned branch = choice.branch();
  std::string after = fmt::format("-{}", branch);
  if (choice.source == SourceKind::kDistribution) {
    after += "-server";
  } else if (branch >= 590) {  // NVIDIA's names have no branch any more
    after.clear();
  }
  return {fmt::format("xserver-xorg-video-nvidia{}", after), fmt::format("libnvidia-gl{}", after)};
}

std::vector<std::string> DisplayPackages(const Planning& planning) {
  const Choice& choice = planning.choice;
  const bool is_own = choice.source == SourceKind::kDistribution;
  switch (planning.facts.distribution.family) {
    case host::Family::kDebian: {
      const std::string infix = DebianInfix(planning);
      return is_own ? std::vector<std::string>{fmt::format("xserver-xorg-video-nvidia{}", infix),
                                               fmt::format("nvidia{}-driver-libs", infix)}
                    : std::vector<std::string>{"nvidia-driver"};
    }
    case host::Family::kUbuntu:
      return UbuntuPackages(choice);
    case host::Family::kRhel:
    case host::Family::kFedora:
    case host::Family::kAmazon:
      return {choice.is_whole() ? fmt::format("nvidia-driver-{}", choice.version)
                                : "nvidia-driver"};
    case host::Family::kSuse:
    default:
      break;  // SUSE's come with the user space, of whose version they have to be
  }
  return {};
}

}  // namespace

void AddDisplaySteps(Planning& planning) {
  const bool is_file = planning.choice.source == SourceKind::kRunFile;
  if (std::vector<std::string> names = DisplayPackages(planning); !is_file && !names.empty()) {
    AddStep(planning.plan, "display-packages", "install display support", planning.traits.page,
            InstallPackages{std::move(names)});
  }
  AddStep(planning.plan, "display-modeset", "let the kernel set the display mode",
          pages::kPostInstall,
          WriteFile{.path = std::string(kModesetFile), .text = "options nvidia-drm modeset=1\n"});
  AddStep(planning.plan, "display-config", "configure the X server for the driver",
          pages::kPostInstall, WriteFile{.path = std::string(kXFile), .text = std::string(kXText)});
}

}  // namespace kgpu::driver
