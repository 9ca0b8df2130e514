#include "src/setup/driver/immutable.h"

#include <fmt/format.h>

#include "src/setup/driver/nvidia_repository.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {
namespace {

// Talos names its extensions by how long the driver lives, not by branch.
constexpr unsigned kLongTermBranch = 580;

std::string Advice(const HostFacts& facts, const Choice& choice) {
  const bool is_open = choice.kind == ModuleKind::kOpen;
  switch (facts.distribution.immutable) {
    case host::Immutable::kRhcos:
      return fmt::format(
          "build the modules in the Driver Toolkit image of this release (oc adm release info "
          "--image-for=driver-toolkit) for kernel {}, or load a kernel module image built with it; "
          "headers that are not in that image need an entitlement on the cluster (secret "
          "etc-pki-entitlement in openshift-config-managed). Page: {}",
          facts.kernel.release, pages::kDriverToolkit);
    case host::Immutable::kFedoraCoreOs:
    case host::Immutable::kOstree:
      return "layer the packages into the image: rpm-ostree install akmod-nvidia "
             "xorg-x11-drv-nvidia-cuda (from RPM Fusion), or build an image with them, then "
             "reboot. Page: https://coreos.github.io/rpm-ostree/";
    case host::Immutable::kTalos:
      return fmt::format(
          "add the system extensions siderolabs/{0}-{1} and "
          "siderolabs/nvidia-container-toolkit-{1} to the image (Image Factory), both with the "
          "same driver version, and the kernel modules nvidia, nvidia_uvm, nvidia_modeset to "
          "machine.kernel.modules. Page: "
          "https://docs.siderolabs.com/talos/v1.13/configure-your-talos-cluster/"
          "hardware-and-drivers/nvidia-gpu{2}",
          is_open ? "nvidia-open-gpu-kernel-modules" : "nonfree-kmod-nvidia",
          choice.branch() > kLongTermBranch ? "production" : "lts", is_open ? "" : "-proprietary");
    case host::Immutable::kFlatcar:
      return "load the driver as a systemd system extension: the NVIDIA sysext of the Flatcar "
             "bakery, or set NVIDIA_DRIVER_VERSION in /etc/flatcar/nvidia-metadata for the unit "
             "nvidia.service. Page: https://www.flatcar.org/docs/latest/setup/customization/"
             "using-nvidia/";
    case host::Immutable::kNixOs:
      return fmt::format(
          "set services.xserver.videoDrivers = [ \"nvidia\" ], hardware.graphics.enable = true, "
          "hardware.nvidia.open = {}, hardware.nvidia.datacenter.enable = true for NVSwitches, and "
          "switch to the new configuration. Page: https://wiki.nixos.org/wiki/NVIDIA",
          is_open);
    case host::Immutable::kBottlerocket:
      return "use the Bottlerocket variant with the driver (aws-k8s-*-nvidia). Page: "
             "https://bottlerocket.dev/";
    case host::Immutable::kCos:
      return "run cos-extensions install gpu on the node, or let the cluster install it "
             "(gpu-driver-version of the node pool). Page: "
             "https://cloud.google.com/container-optimized-os/docs/how-to/run-gpus";
    case host::Immutable::kTransactional:
      return fmt::format(
          "add NVIDIA's repository ({0}), transactional-update pkg install "
          "nvidia-open-driver-{1}-signed-cuda-kmp-{2}, reboot, then transactional-update pkg "
          "install nvidia-compute-utils-{1} and nvidia-persistenced in exactly the modules' "
          "version (rpm -q), and reboot again. Page: {3}",
          RepositoryUrl(facts), choice.branch() >= 590 ? "G07" : "G06",
          facts.kernel.flavour.empty() ? "default" : facts.kernel.flavour, pages::kSuseOpen);
    case host::Immutable::kNone:
      break;
  }
  return "";
}

}  // namespace

Status AdviceFor(const HostFacts& facts, const Choice& choice) {
  return FailedPrecondition(
      "{} is an image-based system, on which no packages are installed. Instead: {}",
      facts.distribution.name, Advice(facts, choice));
}

}  // namespace kgpu::driver
