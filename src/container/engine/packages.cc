#include "src/container/engine/packages.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>

#include "src/container/engine/find.h"
#include "src/host/features/os_release.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::engine {
namespace {

constexpr std::chrono::minutes kCommandDeadline{20};

// One family of distributions. A package "" is one that it does not have.
struct Family {
  std::string_view id;       // as in ID or ID_LIKE of os-release
  std::string_view manager;  // the program
  std::string_view docker;
  std::string_view containerd;
  std::string_view crio;
  std::string_view podman;
};

// Nearest first: ID is asked before the words of ID_LIKE.
constexpr std::array<Family, 11> kFamilies = {{
    {"debian", "apt-get", "docker.io", "containerd", "cri-o", "podman"},
    {"ubuntu", "apt-get", "docker.io", "containerd", "", "podman"},
    {"fedora", "dnf", "moby-engine", "containerd", "cri-o", "podman"},
    {"amzn", "dnf", "docker", "containerd", "", ""},
    {"azurelinux", "tdnf", "moby-engine", "containerd2", "cri-o", ""},
    {"mariner", "tdnf", "moby-engine", "moby-containerd", "cri-o", ""},
    {"rhel", "dnf", "", "", "", "podman"},
    {"centos", "dnf", "", "", "", "podman"},
    {"suse", "zypper", "docker", "containerd", "cri-o", "podman"},
    {"alpine", "apk", "docker", "containerd", "cri-o", "podman"},
    {"arch", "pacman", "docker", "containerd", "cri-o", "podman"},
}};

std::string_view PackageOf(const Family& family, Kind kind) {
  switch (kind) {
    case Kind::kDocker:
      return family.docker;
    case Kind::kContainerd:
      return family.containerd;
    case Kind::kCrio:
      return family.crio;
    case Kind::kPodman:
      return family.podman;
  }
  return "";
}

using OsRelease = std::map<std::string, std::string>;

const Family* FamilyOf(const std::string& id_of_host, const std::string& like) {
  std::vector<std::string_view> ids{id_of_host};
  std::ranges::copy(Words(like), std::back_inserter(ids));
  for (std::string_view id : ids) {
    if (id.starts_with("opensuse") || id.starts_with("sle")) {
      id = "suse";
    }
    const auto* family = std::ranges::find(kFamilies, id, &Family::id);
    if (family != kFamilies.end()) {
      return family;
    }
  }
  return nullptr;
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

}  // namespace

StatusOr<InstallPlan> PlanInstall(const sys::Root& host, Kind kind) {
  StatusOr<std::string> os_release = host.ReadFile("etc/os-release");
  if (!os_release.ok()) {
    os_release = host.ReadFile("usr/lib/os-release");
  }
  if (!os_release.ok()) {
    return Annotate(os_release.status(), "which distribution this is can not be told");
  }
  InstallPlan plan;
  plan.kind = kind;
  OsRelease release = features::ParseOsRelease(*os_release);
  plan.distribution =
      Printable(release["PRETTY_NAME"].empty() ? release["ID"] : release["PRETTY_NAME"], 80);
  const Family* family = FamilyOf(release["ID"], release["ID_LIKE"]);
  if (family == nullptr) {
    return Unimplemented(
        "{}: no distribution whose packages are known here: install {} by hand, "
        "then kgpu runtime configure",
        plan.distribution, ToString(kind));
  }
  const std::string_view package = PackageOf(*family, kind);
  if (package.empty()) {
    return Unimplemented(
        "{} has no package of {}: add the repository of its makers and install it "
        "from there{}, then kgpu runtime configure",
        plan.distribution, ToString(kind), family->podman.empty() ? "" : ", or take podman");
  }
  const std::string manager = FindProgram(host, family->manager);
  if (manager.empty()) {
    return NotFound("{}: no program {} on {}", host.path(), family->manager, plan.distribution);
  }
  plan.commands = Commands(manager, family->manager, std::string(package));
  const std::string systemctl = FindProgram(host, "systemctl");
  if (!UnitOf(kind).empty() && HasSystemd(host) && !systemctl.empty()) {
    plan.commands.push_back({systemctl, "enable", "--now", std::string(UnitOf(kind))});
  }
  return plan;
}

std::string Print(const InstallPlan& plan) {
  std::string text;
  for (const std::vector<std::string>& command : plan.commands) {
    fmt::format_to(std::back_inserter(text), "{}\n", Join(command, " "));
  }
  return text;
}

Status Install(const InstallPlan& plan, const sys::Root& host, sys::ProgramRunner& runner) {
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
