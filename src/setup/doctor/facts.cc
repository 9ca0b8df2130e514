#include "src/setup/doctor/facts.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "src/container/engine/find.h"
#include "src/host/features/os_release.h"
#include "src/platform/base/strings.h"

namespace kgpu::doctor {
namespace {

bool HasWord(std::string_view text, std::initializer_list<std::string_view> wanted) {
  const std::vector<std::string_view> words = Words(text);
  return std::ranges::any_of(
      wanted, [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); });
}

Family ReadFamily(Sight& sight) {
  std::map<std::string, std::string> release = ReadOsRelease(sight);
  const std::string ids = fmt::format("{} {}", release["ID"], release["ID_LIKE"]);
  if (HasWord(ids, {"ubuntu"})) {
    return Family::kUbuntu;
  }
  if (HasWord(ids, {"debian"})) {
    return Family::kDebian;
  }
  if (HasWord(ids, {"rhel", "fedora", "centos", "amzn", "azurelinux"})) {
    return Family::kRhel;
  }
  return HasWord(ids, {"suse", "sles", "opensuse"}) ? Family::kSuse : Family::kOther;
}

Packager ReadRpmPackager(Sight& sight) {
  constexpr std::array<std::pair<std::string_view, Packager>, 3> kPrograms = {
      {{"dnf", Packager::kDnf}, {"tdnf", Packager::kTdnf}, {"yum", Packager::kYum}}};
  for (const auto& [name, packager] : kPrograms) {
    if (!engine::FindProgram(sight.host(), name).empty()) {
      return packager;
    }
  }
  return Packager::kDnf;
}

Packager ReadPackager(Sight& sight, Family family) {
  if (sight.host().Exists("run/ostree-booted")) {
    return Packager::kOstree;
  }
  switch (family) {
    case Family::kDebian:
    case Family::kUbuntu:
      return Packager::kApt;
    case Family::kRhel:
      return ReadRpmPackager(sight);
    case Family::kSuse:
      return engine::FindProgram(sight.host(), "transactional-update").empty()
                 ? Packager::kZypper
                 : Packager::kTransactional;
    case Family::kOther:
      break;
  }
  return Packager::kOther;
}

std::string DefaultTarget(Sight& sight) {
  for (const std::string_view folder : {"etc/systemd/system", "usr/lib/systemd/system"}) {
    const StatusOr<std::string> link =
        sight.host().ReadLink(fmt::format("{}/default.target", folder));
    if (link.ok()) {
      return link->substr(link->rfind('/') + 1);
    }
  }
  return {};
}

// Where the driver's files lie when they are not among the host's: in the container of an operator,
// or where GKE's installer puts them. Only where nobody has named a place.
std::optional<host::DriverRoot> FindOtherRoot(const host::DriverRoot& root,
                                              const host::DriverFacts& driver) {
  if (!driver.library_versions.empty() || root.driver.path() != root.host.path()) {
    return std::nullopt;
  }
  for (const char* folder : {"/run/nvidia/driver", "/home/kubernetes/bin/nvidia"}) {
    StatusOr<host::DriverRoot> other = host::OpenDriverRoot(root.host.path(), folder, "");
    if (other.ok() && !host::ReadDriverFacts(*other).library_versions.empty()) {
      return *std::move(other);
    }
  }
  return std::nullopt;
}

void NoteUnheard(Facts& facts) {
  for (const std::string& reason : facts.heard.unheard) {
    facts.unseen.push_back(reason);
  }
  if (facts.kubelet.is_here() && !facts.heard.cluster && facts.heard.unheard.empty()) {
    facts.unseen.emplace_back(
        "labels, taints, capacity and other owners of the Node object: --kubeconfig FILE asks the "
        "cluster, --node-file FILE reads what `kubectl get node NAME -o json` printed");
  }
}

}  // namespace

std::map<std::string, std::string> ReadOsRelease(Sight& sight) {
  std::optional<std::string> text = sight.Text("etc/os-release");
  if (!text) {
    text = sight.Text("usr/lib/os-release");
  }
  return features::ParseOsRelease(text.value_or(""));
}

namespace {

// Its render nodes and cards; those of the driver are /dev/nvidia*.
std::set<std::string> DisplayNodes(Sight& sight, const PciFacts& pci) {
  std::set<std::string> nodes;
  for (const GpuFacts& gpu : pci.gpus) {
    for (const host::DeviceFile& node : host::ReadDriNodes(sight.host(), gpu.pci.id)) {
      nodes.insert(node.path);
    }
  }
  return nodes;
}

void NoteOpenGpus(Sight& sight, const PciFacts& pci, SystemFacts& facts) {
  const std::set<std::string> nodes =
      facts.displays.empty() ? std::set<std::string>() : DisplayNodes(sight, pci);
  for (const engine::Daemon& daemon : facts.displays) {
    const std::string folder = fmt::format("proc/{}/fd", daemon.pid);
    const StatusOr<std::vector<std::string>> fds = sight.host().ListDir(folder);
    if (!fds.ok()) {
      continue;
    }
    bool& has_gpu = facts.has_gpu_open[daemon.pid];
    for (const std::string& fd : *fds) {
      const auto path = sight.host().ReadLink(fmt::format("{}/{}", folder, fd));
      has_gpu |= path.ok() && (path->starts_with("/dev/nvidia") || nodes.contains(*path));
    }
  }
}

}  // namespace

std::vector<engine::Daemon> FindDisplays(const sys::Root& host) {
  return engine::FindDaemons(host, {"Xorg", "Xwayland", "gnome-shell", "gdm3", "gdm", "sddm",
                                    "lightdm", "kwin_wayland", "weston"});
}

SystemFacts ReadSystemFacts(Sight& sight, const PciFacts& pci) {
  SystemFacts facts;
  facts.family = ReadFamily(sight);
  facts.packager = ReadPackager(sight, facts.family);
  // Where every program of that machine looks for its loader.
  facts.is_arm64 = sight.host().Exists("lib/ld-linux-aarch64.so.1");
  facts.default_target = DefaultTarget(sight);
  facts.has_display_manager =
      sight.host().LinkStat("etc/systemd/system/display-manager.service").ok();
  facts.displays = FindDisplays(sight.host());
  NoteOpenGpus(sight, pci, facts);
  return facts;
}

Facts GatherFacts(const host::DriverRoot& root, sys::ProgramRunner& runner, const Clock& clock,
                  Heard heard) {
  Facts facts;
  Sight sight(root.host, facts.unseen);
  facts.place = ReadPlace(sight);
  facts.pci = ReadPciFacts(sight);
  facts.kernel = ReadKernelFacts(sight, runner);
  MarkGuestGpus(facts.pci, facts.kernel);
  facts.system = ReadSystemFacts(sight, facts.pci);
  facts.entitlement = ReadEntitlementFacts(sight, clock);
  facts.driver = host::ReadDriverFacts(root);
  const std::optional<host::DriverRoot> other = FindOtherRoot(root, facts.driver);
  if (other) {
    facts.driver = host::ReadDriverFacts(*other);
  }
  facts.install =
      ReadInstallFacts(sight, runner, facts.system.family, other ? *other : root, facts.driver);
  if (other) {
    facts.install.is_cuda_in_cache = std::nullopt;  // its cache is for its own container
  }
  facts.devices = ReadDeviceFacts(sight);
  facts.services = ReadServiceFacts(sight);
  facts.containers = ReadContainerFacts(sight, runner, facts.devices.nodes);
  facts.kubelet = ReadKubeletFacts(sight, runner);
  facts.owner_marks = ReadOwnerMarks(sight);
  facts.heard = std::move(heard);
  NoteUnheard(facts);
  facts.unseen.insert(facts.unseen.end(), facts.driver.problems.begin(),
                      facts.driver.problems.end());
  std::ranges::sort(facts.unseen);
  const auto [first, last] = std::ranges::unique(facts.unseen);
  facts.unseen.erase(first, last);
  return facts;
}

}  // namespace kgpu::doctor
