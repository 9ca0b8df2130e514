// Where this is: not every place that has GPUs is a host with the parts of one.
#include <array>

#include "src/setup/doctor/check.h"
#include "src/setup/doctor/facts.h"

namespace kgpu::doctor {
namespace {

// What engines put into a container, and the kubelet into a pod's.
constexpr std::array<std::string_view, 3> kMarksOfContainers = {"/.dockerenv", "/run/.containerenv",
                                                                "/var/run/secrets/kubernetes.io"};

bool IsContainer(Sight& sight) {
  // A node that is a container itself, as kind's are, has an init system.
  return !sight.host().Exists("run/systemd/system") &&
         std::ranges::any_of(kMarksOfContainers,
                             [&](std::string_view path) { return sight.host().Exists(path); });
}

bool IsJetson(Sight& sight) {
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
      findings.Add("/dev/dxg is here: Windows has the GPU and its driver, and hands it to WSL",
                   {"nvidia-smi   # of /usr/lib/wsl/lib: the GPU as WSL has it",
                    "# drivers are installed and mended in Windows"});
      return;
    case Place::kJetson:
      findings.Add("this is a Jetson: its GPU is part of the chip and on no PCI bus",
                   {"# its driver comes with NVIDIA's L4T image"});
      return;
    case Place::kContainer:
      findings.Add("this is a container that sees its own files as the root",
                   {"# mount the host's / at /host, then: kgpu doctor --host-root /host"});
      return;
  }
}

constexpr std::array kPlaceChecks = {
    Check{
        "place-unusual", "This is no host of the usual kind", Severity::kInfo,
        "Modules, services, engines and the kubelet are not to be seen from here, or are not what "
        "they are on a server. Only the PCI bus is looked at.",
        Unusual},
};

}  // namespace

Place ReadPlace(Sight& sight) {
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
