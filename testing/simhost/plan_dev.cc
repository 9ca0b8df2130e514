#include <fmt/format.h>

#include "testing/driver/state_mig.h"
#include "testing/simhost/plan.h"

namespace kgpu::simhost {
namespace {

// A node and its /dev/char link, which runc and systemd need for nodes that udev does not know.
void AddNode(Tree& tree, std::string_view name, unsigned major, unsigned minor, mode_t mode) {
  tree.CharDevice(fmt::format("dev/{}", name), major, minor, mode);
  tree.Link(fmt::format("dev/char/{}:{}", major, minor), fmt::format("../{}", name));
}

void AddCapability(const HostView& host, Tree& tree, unsigned minor, mode_t mode) {
  AddNode(tree, fmt::format("nvidia-caps/nvidia-cap{}", minor), host.majors.caps, minor, mode);
}

void AddCapabilityNodes(const HostView& host, Tree& tree) {
  AddCapability(host, tree, 1, 0400);
  AddCapability(host, tree, 2, 0444);
  for (const GpuView& gpu : host.gpus) {
    for (const GpuInstanceView& instance : gpu.instances) {
      AddCapability(host, tree, sim::GpuInstanceCapMinor(gpu.minor, instance.id), 0444);
      for (const unsigned compute : instance.compute_instances) {
        AddCapability(host, tree, sim::ComputeInstanceCapMinor(gpu.minor, instance.id, compute),
                      0444);
      }
    }
  }
}

void AddNvSwitches(const HostView& host, Tree& tree) {
  if (host.nvswitches.empty()) {
    return;
  }
  AddNode(tree, "nvidia-nvlink", host.majors.nvlink, 0, 0666);
  AddNode(tree, "nvidia-nvswitchctl", host.majors.nvswitch, kControlMinor, 0666);
  for (unsigned i = 0; i < host.nvswitches.size(); ++i) {
    AddNode(tree, fmt::format("nvidia-nvswitch{}", i), host.majors.nvswitch, i, 0666);
  }
}

// The RDMA stack is the kernel's own: it does not hang on the GPUs' module.
void AddRdmaCards(const HostView& host, Tree& tree) {
  if (host.companions.rdma_cards == 0) {
    return;
  }
  constexpr unsigned kFirstVerbsMinor = 192;
  // A real connection manager is a "misc" device, whose numbers this machine may use.
  AddNode(tree, "infiniband/rdma_cm", host.majors.infiniband, 0, 0666);
  for (unsigned i = 0; i < host.companions.rdma_cards; ++i) {
    AddNode(tree, fmt::format("infiniband/uverbs{}", i), host.majors.infiniband,
            kFirstVerbsMinor + i, 0666);
  }
}

void AddCompanions(const HostView& host, Tree& tree) {
  for (unsigned i = 0; i < host.companions.imex_channels; ++i) {
    AddNode(tree, fmt::format("nvidia-caps-imex-channels/channel{}", i), host.majors.imex, i, 0666);
  }
  if (host.companions.has_gds) {
    constexpr unsigned kGdsNodes = 16;
    for (unsigned i = 0; i < kGdsNodes; ++i) {
      AddNode(tree, fmt::format("nvidia-fs{}", i), host.majors.gds, i, 0666);
    }
  }
  if (host.companions.has_gdrcopy) {
    AddNode(tree, "gdrdrv", host.majors.gdrcopy, 0, 0666);
  }
}

void AddDrm(const HostView& host, Tree& tree) {
  for (const GpuView& gpu : host.gpus) {
    const std::string card = fmt::format("card{}", gpu.minor);
    const std::string render = fmt::format("renderD{}", 128 + gpu.minor);
    AddNode(tree, "dri/" + card, kDrmMajor, gpu.minor, 0660);
    AddNode(tree, "dri/" + render, kDrmMajor, 128 + gpu.minor, 0666);
    const std::string by_path = fmt::format("dev/dri/by-path/pci-{}", gpu.pci.str());
    tree.Link(by_path + "-card", "../" + card);
    tree.Link(by_path + "-render", "../" + render);
  }
}

}  // namespace

void PlanDeviceNodes(const HostView& host, Tree& tree) {
  tree.Folder("dev");
  AddRdmaCards(host, tree);
  if (host.is_nouveau) {
    AddDrm(host, tree);
  }
  if (host.module_version.empty()) {
    return;
  }
  AddDrm(host, tree);
  for (const GpuView& gpu : host.gpus) {
    AddNode(tree, fmt::format("nvidia{}", gpu.minor), kNvidiaMajor, gpu.minor, 0666);
  }
  AddNode(tree, "nvidiactl", kNvidiaMajor, kControlMinor, 0666);
  AddNode(tree, "nvidia-modeset", kNvidiaMajor, kModesetMinor, 0666);
  AddNode(tree, "nvidia-uvm", host.majors.uvm, 0, 0666);
  AddNode(tree, "nvidia-uvm-tools", host.majors.uvm, 1, 0666);
  AddCapabilityNodes(host, tree);
  AddNvSwitches(host, tree);
  AddCompanions(host, tree);
}

}  // namespace kgpu::simhost
