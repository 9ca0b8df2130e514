#include "testing/simhost/plan.h"

#include <fmt/format.h>

namespace kgpu::simhost {

Tree PlanTree(const HostView& host) {
  Tree tree;
  std::vector<LdCacheEntry> cache;
  PlanDeviceNodes(host, tree);
  PlanProc(host, tree);
  PlanModules(host, tree);
  PlanSysfs(host, tree);
  if (!host.library_version.empty()) {
    PlanLibraries(host, tree, cache);
    PlanPrograms(host, tree);
  }
  PlanDistribution(host, tree, std::move(cache));
  return tree;
}

std::string LibraryFolder(const HostView& host, bool is_32bit) {
  const bool is_multiarch = host.distro == Distro::kDebian || host.distro == Distro::kUbuntu;
  if (is_32bit) {
    return is_multiarch ? "usr/lib/i386-linux-gnu" : "usr/lib";
  }
  if (!is_multiarch) {
    return "usr/lib64";
  }
  return host.arch == Arch::kAarch64 ? "usr/lib/aarch64-linux-gnu" : "usr/lib/x86_64-linux-gnu";
}

ElfMachine MachineOf(const HostView& host, bool is_32bit) {
  if (is_32bit) {
    return ElfMachine::kX86;
  }
  return host.arch == Arch::kAarch64 ? ElfMachine::kAarch64 : ElfMachine::kX86_64;
}

}  // namespace kgpu::simhost
