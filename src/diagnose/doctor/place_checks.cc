// Where this is: not every place that has GPUs is a host with the parts of one.
#include <array>

#include "src/diagnose/doctor/check.h"
#include "src/diagnose/doctor/facts.h"

namespace kgpu::doctor {
namespace {

// Files that engines put into containers, and the kubelet into those of a pod.
constexpr std::array<std::string_view, 3> kMarksOfContainers = {"/.dockerenv", "/run/.containerenv",
                                                                "/var/run/secrets/kubernetes.io"};

bool IsContainer(host::Sight& sight) {
  // A node that is a container itself, as kind's are, has an init system.
  return !sight.host().Exists("run/systemd/system") &&
         std::ranges::any_of(kMarksOfContainers,
                             [&](std::string_view path) { return sight.host().Exists(path); });
}

bool IsJetson(host::Sight& sight) {
  if (sight.host().Exists("etc/nv_tegra_release")) {
    return true;
  }
  const StatusOr<std::string> machine = sight.host().ReadFile("proc/device-tree/compatible");
  return machine.ok() && machine->find("nvidia,tegra") != std::string::npos;
}

void Unusual(const Facts& facts, Findings& findings) {
  switch (facts.place) {
    case Place::kHost:
      return;
    case Place::kWsl:
      findings.Add("/dev/dxg exists: Windows owns the GPU and its driver and shares it with WSL",
                   {"nvidia-smi   # from /usr/lib/wsl/lib: shows the GPU in WSL",
                    "# install and fix drivers in Windows"});
      return;
    case Place::kJetson:
      findings.Add("this is a Jetson: its GPU is part of the chip and not on a PCI bus",
                   {"# its driver is part of NVIDIA's L4T image"});
      return;
    case Place::kContainer:
      findings.Add("this is a container whose root is not the host's",
                   {"# mount the host's / at /host, then run: kgpu doctor --host-root /host"});
      return;
  }
}

constexpr std::array kPlaceChecks = {
    Check{"place-unusual", "This is not an ordinary host", Severity::kInfo,
          "Modules, services, engines and the kubelet are not visible from here, or differ from "
          "those of a server. Only the PCI bus is checked.",
          Unusual},
};

}  // namespace

Place ReadPlace(host::Sight& sight) {
  if (sight.host().Exists("dev/dxg")) {
    return Place::kWsl;
  }
  if (IsContainer(sight)) {
    return Place::kContainer;
  }
  return IsJetson(sight) ? Place::kJetson : Place::kHost;
}

std::span<const Check> PlaceChecks() {
  return kPlaceChecks;
}

}  // namespace kgpu::doctor
