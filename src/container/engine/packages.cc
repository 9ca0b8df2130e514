#include "src/container/engine/packages.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "src/container/engine/find.h"
#include "src/host/facts/distribution.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/find_program.h"
#include "src/platform/sys/systemctl.h"

namespace kgpu::engine {
namespace {

constexpr std::chrono::minutes kCommandDeadline{20};

// The packages of one family of distributions. "": it does not have that package.
struct Offer {
  host::Family family;
  std::string_view manager;  // the program
  std::string_view docker;
  std::string_view containerd;
  std::string_view crio;
  std::string_view podman;
};

constexpr std::array<Offer, 10> kOffers = {{
    {host::Family::kDebian, "apt-get", "docker.io", "containerd", "cri-o", "podman"},
    {host::Family::kUbuntu, "apt-get", "docker.io", "containerd", "", "podman"},
    {host::Family::kFedora, "dnf", "moby-engine", "containerd", "cri-o", "podman"},
    {host::Family::kAmazon, "dnf", "docker", "containerd", "", ""},
    {host::Family::kAzure, "tdnf", "moby-engine", "containerd2", "cri-o", ""},
    {host::Family::kMariner, "tdnf", "moby-engine", "moby-containerd", "cri-o", ""},
    {host::Family::kRhel, "dnf", "", "", "", "podman"},
    {host::Family::kSuse, "zypper", "docker", "containerd", "cri-o", "podman"},
    {host::Family::kAlpine, "apk", "docker", "containerd", "cri-o", "podman"},
    {host::Family::kArch, "pacman", "docker", "containerd", "cri-o", "podman"},
}};

std::string_view PackageOf(const Offer& offer, Kind kind) {
  switch (kind) {
    case Kind::kDocker:
      return offer.docker;
    case Kind::kContainerd:
      return offer.containerd;
    case Kind::kCrio:
      return offer.crio;
    case Kind::kPodman:
      return offer.podman;
  }
  return "";
}

std::vector<std::vector<std::string>> Commands(const std::string& manager, std::string_view name,
                                               const std::string& package) {
  if (name == "apt-get") {
    return {{manager, "update"}, {manager, "install", "--yes", package}};
  }
  if (name == "zypper") {
    return {{manager, "--non-interactive", "install", package}};
  }
  if (name == "apk") {
    return {{manager, "add", package}};
  }
  if (name == "pacman") {
    return {{manager, "-S", "--noconfirm", "--needed", package}};
  }
  return {{manager, "install", "-y", package}};
}

std::string_view UnitOf(Kind kind) {
  switch (kind) {
    case Kind::kDocker:
      return "docker.service";
    case Kind::kContainerd:
      return "containerd.service";
    case Kind::kCrio:
      return "crio.service";
    case Kind::kPodman:
      return "";  // no daemon
  }
  return "";
}

StatusOr<host::Distribution> Identify(const sys::Root& host) {
  StatusOr<host::Distribution> distribution = host::ReadDistribution(host);
  if (!distribution.ok()) {
    return MakeStatus(distribution.status().code(),
                      fmt::format("cannot identify the distribution: {}: set --host-root to the "
                                  "root of a whole system, or install an engine manually",
                                  Message(distribution.status())));
  }
  return distribution;
}

// `wanted`: what to install by hand where that is the only way.
StatusOr<Offer> OfferOf(const host::Distribution& distribution, std::string_view wanted) {
  if (distribution.immutable != host::Immutable::kNone) {
    return Unimplemented(
        "{} takes no packages: add {} to its image or configuration, then run kgpu runtime "
        "configure",
        distribution.name, wanted);
  }
  const auto* offer = std::ranges::find(kOffers, distribution.family, &Offer::family);
  if (offer == kOffers.end()) {
    return Unimplemented(
        "{}: unknown distribution: install {} manually, then run kgpu runtime configure",
        distribution.name, wanted);
  }
  return *offer;
}

// Those with dnf may have its successor or its predecessor, which take the same words.
std::string FindManager(const sys::Root& host, std::string_view name) {
  std::string program = sys::FindProgram(host, name);
  for (const char* other : {"dnf5", "yum"}) {
    if (program.empty() && name == "dnf") {
      program = sys::FindProgram(host, other);
    }
  }
  return program;
}

}  // namespace

StatusOr<InstallPlan> PlanInstall(const sys::Root& host, Kind kind) {
  ASSIGN_OR_RETURN(const host::Distribution distribution, Identify(host));
  ASSIGN_OR_RETURN(const Offer offer, OfferOf(distribution, ToString(kind)));
  InstallPlan plan;
  plan.kind = kind;
  plan.distribution = distribution.name;
  const std::string_view package = PackageOf(offer, kind);
  if (package.empty()) {
    return Unimplemented(
        "{} has no package for {}: install it from its vendor's repository{}, then run kgpu "
        "runtime configure",
        plan.distribution, ToString(kind), offer.podman.empty() ? "" : ", or use podman");
  }
  std::string manager = FindManager(host, offer.manager);
  if (manager.empty()) {
    plan.missing = offer.manager;
    manager = plan.missing;
  }
  plan.commands = Commands(manager, offer.manager, std::string(package));
  const std::string systemctl = sys::FindProgram(host, "systemctl");
  if (!UnitOf(kind).empty() && sys::HasSystemd(host) && !systemctl.empty()) {
    plan.commands.push_back({systemctl, "enable", "--now", std::string(UnitOf(kind))});
  }
  return plan;
}

StatusOr<Kind> EngineToInstall(const sys::Root& host) {
  const bool is_for_pods = HasKubelet(host);
  const std::string_view wanted = is_for_pods ? "containerd or CRI-O" : "a container engine";
  ASSIGN_OR_RETURN(const host::Distribution distribution, Identify(host));
  ASSIGN_OR_RETURN(const Offer offer, OfferOf(distribution, wanted));
  for (const Kind kind : {Kind::kContainerd, Kind::kCrio, Kind::kPodman, Kind::kDocker}) {
    if (!PackageOf(offer, kind).empty() && (!is_for_pods || IsForPods(kind))) {
      return kind;
    }
  }
  return Unimplemented(
      "{} has no package for {}: install it from its vendor's repository, then run kgpu runtime "
      "configure",
      distribution.name, wanted);
}

std::string InstallAdvice(const sys::Root& host) {
  const StatusOr<Kind> kind = EngineToInstall(host);
  return kind.ok() ? fmt::format("kgpu runtime install --engine {}", ToString(*kind))
                   : fmt::format("# {}", Message(kind.status()));
}

std::string Print(const InstallPlan& plan) {
  std::string text;
  for (const std::vector<std::string>& command : plan.commands) {
    fmt::format_to(std::back_inserter(text), "{}\n", Join(command, " "));
  }
  return text;
}

Status CheckInstall(const InstallPlan& plan) {
  return plan.missing.empty()
             ? OkStatus()
             : FailedPrecondition(
                   "{}: {} not found, which installs its packages: install {} manually, then run "
                   "kgpu runtime configure",
                   plan.distribution, plan.missing, ToString(plan.kind));
}

Status Install(const InstallPlan& plan, const sys::Root& host, sys::ProgramRunner& runner) {
  RETURN_IF_ERROR(CheckInstall(plan));
  for (const std::vector<std::string>& command : plan.commands) {
    sys::RunRequest request;
    request.argv = command;
    request.environment.emplace_back("DEBIAN_FRONTEND=noninteractive");
    request.root = host.path();
    request.deadline = kCommandDeadline;
    ASSIGN_OR_RETURN(const sys::RunResult result, runner.Run(request));
    if (!result.IsSuccess()) {
      return Unavailable("{}: {}", Join(command, " "), sys::Describe(result));
    }
  }
  return OkStatus();
}

}  // namespace kgpu::engine
