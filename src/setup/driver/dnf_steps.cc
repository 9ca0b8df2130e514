#include "src/setup/driver/dnf_steps.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/host/facts/kernel_packages.h"
#include "src/setup/driver/nvidia_repository.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {
namespace {

// A repository of dnf's turned on or off.
std::vector<std::string> Switch(const HostFacts& facts, const std::string& id, bool is_on) {
  if (HasDnf5(facts)) {
    return {Dnf(facts), "config-manager", "setopt",
            fmt::format("{}.enabled={}", id, is_on ? 1 : 0)};
  }
  return {Dnf(facts), "config-manager", is_on ? "--set-enabled" : "--set-disabled", id};
}

bool IsOn(const HostFacts& facts, std::string_view id) {
  return std::ranges::any_of(facts.repositories, [id](const RpmRepository& one) {
    return one.id == id && one.is_enabled;
  });
}

void AddEpelOfSubscribers(Planning& planning) {
  const HostFacts& facts = planning.facts;
  const unsigned major = facts.distribution.major;
  const std::string id = fmt::format("codeready-builder-for-rhel-{}-{}-rpms", major, facts.arch);
  const std::string manager =
      ProgramOr(facts, "subscription-manager", "/usr/sbin/subscription-manager");
  if (!IsOn(facts, id)) {
    AddCommand(planning.plan, "builder-repository", "add the repository that EPEL requires",
               pages::kRhel, {manager, "repos", fmt::format("--enable={}", id)},
               {manager, "repos", fmt::format("--disable={}", id)});
  }
  AddStep(planning.plan, "epel", "add EPEL, which provides DKMS", pages::kRhel,
          InstallPackages{{fmt::format(
              "https://dl.fedoraproject.org/pub/epel/epel-release-latest-{}.noarch.rpm", major)}});
  planning.plan.notes.emplace_back(
      "the host must be subscribed (subscription-manager status): its repositories provide the "
      "kernel headers");
}

// The headers for programs come with another kernel's packages, which those of the distribution
// would replace: "kernel-ml-headers".
bool HasUserHeaders(const HostFacts& facts) {
  return std::ranges::any_of(facts.packages, [](const auto& package) {
    const std::string& name = package.first;
    return name.starts_with("kernel-") && name.ends_with("-headers") && name != "kernel-headers";
  });
}

}  // namespace

std::string Dnf(const HostFacts& facts) {
  return ProgramOr(facts, "dnf", "/usr/bin/dnf");
}

bool HasDnf5(const HostFacts& facts) {
  return !facts.Program("dnf5").empty() ||
         (facts.distribution.family == host::Family::kFedora && facts.distribution.major >= 41);
}

bool HasStreams(const HostFacts& facts) {
  const host::Distribution& distribution = facts.distribution;
  return distribution.family == host::Family::kAmazon ||
         (distribution.family == host::Family::kRhel && distribution.major < 10);
}

void AddRepositoryTool(Planning& planning, std::string_view page) {
  constexpr std::string_view kId = "repository-tool";
  const std::vector<Step>& steps = planning.plan.steps;
  if (std::ranges::find(steps, kId, &Step::id) == steps.end()) {
    AddStep(planning.plan, kId, "install the tools that add repositories", page,
            InstallPackages{{HasDnf5(planning.facts) ? "dnf5-plugins" : "dnf-plugins-core"}});
  }
}

void AddDnfRepository(Planning& planning, std::string_view page) {
  const HostFacts& facts = planning.facts;
  const std::vector<RpmRepository>& all = facts.repositories;
  const std::string tag = RepositoryTag(facts.distribution);
  const std::string url = RepositoryUrl(facts);
  // A mirror has NVIDIA's name for it, too.
  const std::string id = fmt::format("cuda-{}-{}", tag, url.substr(url.rfind('/') + 1));
  const auto is_it = [&](const RpmRepository& one) {
    return one.id == id || one.url.find(fmt::format("/cuda/repos/{}/", tag)) != std::string::npos;
  };
  const auto is_on = [&](const RpmRepository& one) { return is_it(one) && one.is_enabled; };
  if (std::ranges::any_of(all, is_on)) {
    return;
  }
  AddRepositoryTool(planning, page);
  if (const auto off = std::ranges::find_if(all, is_it); off != all.end()) {
    AddCommand(planning.plan, "repository", "enable NVIDIA's repository", page,
               Switch(facts, off->id, true), Switch(facts, off->id, false));
    return;
  }
  const std::string file = fmt::format("cuda-{}.repo", tag);
  const std::string path = fmt::format("/etc/yum.repos.d/{}", file);
  if (std::ranges::find(all, path, &RpmRepository::file) != all.end()) {
    AddStep(planning.plan, "repository-file", "move another file of that name aside", page,
            RemoveFile{path});
  }
  std::vector<std::string> argv = {Dnf(facts), "config-manager", "--add-repo",
                                   fmt::format("{}/{}", url, file)};
  if (HasDnf5(facts)) {
    argv = {Dnf(facts), "config-manager", "addrepo", fmt::format("--from-repofile={}", argv[3])};
  }
  AddCommand(planning.plan, "repository", "add NVIDIA's repository", page, std::move(argv),
             {"/usr/bin/rm", "-f", path});
}

void AddDkmsSources(Planning& planning) {
  const HostFacts& facts = planning.facts;
  const unsigned major = facts.distribution.major;
  if (facts.distribution.family != host::Family::kRhel || facts.HasPackage("epel-release") ||
      facts.HasPackage("dkms") || IsOn(facts, "epel")) {
    return;
  }
  if (facts.distribution.id == "rhel") {
    AddEpelOfSubscribers(planning);
    return;
  }
  const bool is_oracle = facts.distribution.id == "ol";
  std::string id = major == 8 ? "powertools" : "crb";
  std::string package = "epel-release";
  if (is_oracle) {
    id = fmt::format("ol{}_codeready_builder", major);
    package = fmt::format("oracle-epel-release-el{}", major);
  }
  if (!IsOn(facts, id)) {
    AddRepositoryTool(planning, pages::kRhel);
    AddCommand(planning.plan, "builder-repository", "add the repository that EPEL requires",
               pages::kRhel, Switch(facts, id, true), Switch(facts, id, false));
  }
  AddStep(planning.plan, "epel", "add EPEL, which provides DKMS", pages::kRhel,
          InstallPackages{{std::move(package)}});
}

void AddDnfHeaders(Planning& planning, std::string_view page) {
  const host::RpmKernel kernel = host::RpmKernelOf(
      planning.facts.distribution, planning.facts.kernel.release, planning.facts.packages);
  std::vector<std::string> names = {fmt::format("{}-devel-{}", kernel.stem, kernel.release)};
  if (planning.facts.distribution.family == host::Family::kAmazon) {
    names.push_back(fmt::format("{}-headers", kernel.stem));
    names.push_back(fmt::format("{}-modules-extra-{}", kernel.stem, kernel.release));
  } else if (!HasUserHeaders(planning.facts)) {
    names.emplace_back("kernel-headers");  // one for all kernels
  }
  AddStep(planning.plan, "headers", "install the kernel headers", page,
          InstallPackages{std::move(names)});
}

// The stream that was chosen before is chosen again by the undo.
void AddModuleStream(Planning& planning, const std::string& stream, std::string_view page) {
  const ModuleStream& old = planning.facts.stream;
  if (old.name == stream) {
    return;
  }
  const auto module = [&planning](const char* verb, std::string_view what) {
    return std::vector<std::string>{Dnf(planning.facts), "-y", "module", verb, std::string(what)};
  };
  constexpr std::string_view kModule = "nvidia-driver";
  if (!old.name.empty()) {
    AddCommand(planning.plan, "stream-reset", "leave another module stream of the driver", page,
               module("reset", kModule), module("enable", fmt::format("{}:{}", kModule, old.name)));
  } else if (old.is_disabled) {
    AddCommand(planning.plan, "stream-reset", "enable module streams of the driver", page,
               module("reset", kModule), module("disable", kModule));
  }
  AddCommand(planning.plan, "stream", "select the module stream of this branch and kind", page,
             module("enable", fmt::format("{}:{}", kModule, stream)), module("reset", kModule));
}

}  // namespace kgpu::driver
