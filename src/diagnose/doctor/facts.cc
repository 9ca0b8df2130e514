#include "src/diagnose/doctor/facts.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "src/gpu/health/one_look.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/find_program.h"

namespace kgpu::doctor {
namespace {

Packager ReadRpmPackager(host::Sight& sight) {
  constexpr std::array<std::pair<std::string_view, Packager>, 3> kPrograms = {
      {{"dnf", Packager::kDnf}, {"tdnf", Packager::kTdnf}, {"yum", Packager::kYum}}};
  for (const auto& [name, packager] : kPrograms) {
    if (!sys::FindProgram(sight.host(), name).empty()) {
      return packager;
    }
  }
  return Packager::kDnf;
}

Packager ReadPackager(host::Sight& sight, host::Family family) {
  if (sight.host().Exists("run/ostree-booted")) {
    return Packager::kOstree;
  }
  switch (family) {
    case host::Family::kDebian:
    case host::Family::kUbuntu:
      return Packager::kApt;
    case host::Family::kSuse:
      return sys::FindProgram(sight.host(), "transactional-update").empty()
                 ? Packager::kZypper
                 : Packager::kTransactional;
    default:
      return IsLikeRedHat(family) ? ReadRpmPackager(sight) : Packager::kOther;
  }
}

std::string DefaultTarget(host::Sight& sight) {
  for (const std::string_view folder : {"etc/systemd/system", "usr/lib/systemd/system"}) {
    const StatusOr<std::string> link =
        sight.host().ReadLink(fmt::format("{}/default.target", folder));
    if (link.ok()) {
      return link->substr(link->rfind('/') + 1);
    }
  }
  return {};
}

// Why the driver was asked in vain, where no check of the installation reports it.
void NoteDriver(const Facts& facts, host::Sight& sight) {
  using enum device::DriverState;
  const std::optional<DriverAnswer>& answer = facts.heard.driver;
  if (!answer || answer->is_unresponsive() || !answer->snapshot) {
    return;
  }
  const device::Driver& driver = answer->snapshot->driver;
  if (driver.state == kFailed || driver.state == kNoPermission || driver.state == kStarting) {
    sight.Say(fmt::format("what the driver says of its GPUs: {}", driver.reason));
  }
}

void NoteUnanswered(const Facts& facts, host::Sight& sight) {
  for (const std::string& reason : facts.heard.unanswered) {
    sight.Say(reason);
  }
  if (facts.kubelet.is_here() && !facts.heard.cluster && facts.heard.unanswered.empty()) {
    sight.Say(
        "labels, taints, capacity and other owners of the Node object: use --kubeconfig FILE to "
        "query the cluster, or --node-file FILE with the output of `kubectl get node NAME -o "
        "json`");
  }
}

// Its render nodes and cards; those of the driver are /dev/nvidia*.
std::set<std::string> DisplayNodes(host::Sight& sight, const host::PciFacts& pci) {
  std::set<std::string> nodes;
  for (const host::GpuFacts& gpu : pci.gpus) {
    for (const host::DeviceFile& node : host::ReadDriNodes(sight.host(), gpu.pci.id)) {
      nodes.insert(node.path);
    }
  }
  return nodes;
}

void NoteOpenGpus(host::Sight& sight, const host::Facts& seen, SystemFacts& facts) {
  const std::set<std::string> nodes =
      seen.displays.empty() ? std::set<std::string>() : DisplayNodes(sight, seen.pci);
  for (const host::Daemon& daemon : seen.displays) {
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

std::vector<health::OpenFault> JudgeGpus(const std::optional<DriverAnswer>& answer,
                                         const Clock& clock) {
  if (!answer || !answer->is_ready() || !answer->samples) {
    return {};
  }
  std::vector<device::Gpu> gpus = answer->snapshot->gpus;
  return health::JudgeOnce(*answer->samples, clock, gpus);
}

}  // namespace

bool IsLikeRedHat(host::Family family) {
  return host::UsesDnf(family) || family == host::Family::kAzure ||
         family == host::Family::kMariner;
}

SystemFacts ReadSystemFacts(host::Sight& sight, host::Family family, const host::Facts& seen) {
  SystemFacts facts;
  facts.family = family;
  facts.packager = ReadPackager(sight, family);
  // Where every program of that machine looks for its loader.
  facts.is_arm64 = sight.host().Exists("lib/ld-linux-aarch64.so.1");
  facts.default_target = DefaultTarget(sight);
  facts.has_display_manager =
      sight.host().LinkStat("etc/systemd/system/display-manager.service").ok();
  NoteOpenGpus(sight, seen, facts);
  return facts;
}

Facts GatherFacts(const host::DriverRoot& root, sys::ProgramRunner& runner, const Clock& clock,
                  Heard heard) {
  const std::optional<host::DriverRoot> other = host::FindOtherRoot(root);
  const host::DriverRoot& found = other ? *other : root;
  Facts facts;
  static_cast<host::Facts&>(facts) = host::GatherFacts(found, runner);
  host::Sight sight(root.host, facts.unreadable);
  const auto of = [&](Topic topic) { return host::Sight(root.host, facts.unreadable_of[topic]); };
  host::Sight entitlement = of(Topic::kEntitlement);
  host::Sight install = of(Topic::kInstall);
  host::Sight devices = of(Topic::kDevices);
  host::Sight services = of(Topic::kServices);
  host::Sight processes = of(Topic::kProcesses);
  host::Sight containers = of(Topic::kContainers);
  host::Sight kubelet = of(Topic::kKubelet);
  host::Sight owners = of(Topic::kOwners);
  host::Sight answers = of(Topic::kAnswers);
  facts.place = ReadPlace(sight);
  StatusOr<host::Distribution> read = host::ReadDistribution(root.host);
  if (!read.ok()) {
    sight.Note(read.status());
  }
  const host::Distribution distribution = read.value_or(host::Distribution());
  facts.system = ReadSystemFacts(sight, distribution.family, facts);
  facts.system.can_plan_driver = host::CanPlanDriver(distribution);
  facts.entitlement = ReadEntitlementFacts(entitlement, distribution, clock);
  facts.install = ReadInstallFacts(install, runner, distribution, found, facts.driver);
  if (other) {
    facts.install.is_cuda_in_cache = std::nullopt;  // its cache is for its own container
  }
  facts.devices = ReadDeviceFacts(devices);
  facts.services = ReadServiceFacts(services);
  facts.shows_processes = host::ShowsProcesses(root.host);
  if (facts.place == Place::kHost && !facts.shows_processes) {
    processes.Say(
        fmt::format("which engines, kubelets and daemons run: {} is not the /proc of a running "
                    "host",
                    root.host.At("proc")));
  }
  facts.containers = ReadContainerFacts(containers, runner, facts.devices.nodes, root.engine_root);
  facts.kubelet = ReadKubeletFacts(kubelet, runner);
  facts.owner_marks = ReadOwnerMarks(owners);
  facts.heard = std::move(heard);
  facts.gpu_faults = JudgeGpus(facts.heard.driver, clock);
  NoteDriver(facts, answers);
  NoteUnanswered(facts, answers);
  std::ranges::sort(facts.unreadable);
  return facts;
}

}  // namespace kgpu::doctor
