#include "src/driver/dnf_steps.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/driver/nvidia_repository.h"
#include "src/driver/pages.h"

namespace kgpu::driver {
namespace {

// The kernel's package and the release in the names of those that belong to it: "kernel-64k",
// "5.14.0-427.13.1.el9_4.aarch64" for 5.14.0-427.13.1.el9_4.aarch64+64k.
struct KernelPackage {
  std::string stem;
  std::string release;
};

KernelPackage KernelPackageOf(const HostFacts& facts) {
  const std::string& release = facts.kernel.release;
  if (const size_t plus = release.find('+'); plus != std::string::npos) {
    return {fmt::format("kernel-{}", release.substr(plus + 1)), release.substr(0, plus)};
  }
  if (release.find("uek") != std::string::npos) {
    return {"kernel-uek", release};  // Oracle's own
  }
  if (facts.distribution.family == Family::kRhel && release.find(".rt") != std::string::npos) {
    return {"kernel-rt", release};
  }
  if (facts.distribution.family == Family::kAmazon && !release.starts_with("6.1.")) {
    // Amazon's newer kernels are packages of their own: kernel6.12.
    return {fmt::format("kernel{}", release.substr(0, release.find('.', release.find('.') + 1))),
            release};
  }
  return {"kernel", release};
}

// Once, whoever asks for it first.
void AddRepositoryTool(Planning& planning, std::string_view page) {
  constexpr std::string_view kId = "repository-tool";
  const std::vector<Step>& steps = planning.plan.steps;
  if (std::ranges::find(steps, kId, &Step::id) == steps.end()) {
    AddStep(planning.plan, kId, "install what adds repositories", page,
            InstallPackages{{"dnf-plugins-core"}});
  }
}

void AddEpelOfSubscribers(Planning& planning) {
  const HostFacts& facts = planning.facts;
  const unsigned major = facts.distribution.major;
  const std::string id = fmt::format("codeready-builder-for-rhel-{}-{}-rpms", major, facts.arch);
  const std::string manager =
      ProgramOr(facts, "subscription-manager", "/usr/sbin/subscription-manager");
  AddCommand(planning.plan, "builder-repository", "add the repository that EPEL builds on",
             pages::kRhel, {manager, "repos", fmt::format("--enable={}", id)},
             {manager, "repos", fmt::format("--disable={}", id)});
  AddStep(planning.plan, "epel", "add EPEL, which has DKMS", pages::kRhel,
          InstallPackages{{fmt::format(
              "https://dl.fedoraproject.org/pub/epel/epel-release-latest-{}.noarch.rpm", major)}});
  planning.plan.notes.emplace_back(
      "the host must be subscribed (subscription-manager status): its repositories have the "
      "headers of the kernel");
}

}  // namespace

std::string Dnf(const HostFacts& facts) {
  return ProgramOr(facts, "dnf", "/usr/bin/dnf");
}

bool HasDnf5(const HostFacts& facts) {
  return !facts.Program("dnf5").empty() ||
         (facts.distribution.family == Family::kFedora && facts.distribution.major >= 41);
}

void AddDnfRepository(Planning& planning, std::string_view page) {
  const HostFacts& facts = planning.facts;
  const std::string tag = RepositoryTag(facts.distribution);
  const bool is_here = std::ranges::any_of(facts.repositories, [&tag](const RpmRepository& one) {
    return one.url.find(fmt::format("/cuda/repos/{}/", tag)) != std::string::npos;
  });
  if (is_here) {
    return;
  }
  const std::string url = fmt::format("{}/cuda-{}.repo", RepositoryUrl(facts), tag);
  std::vector<std::string> argv = {Dnf(facts), "config-manager", "--add-repo", url};
  if (HasDnf5(facts)) {
    argv = {Dnf(facts), "config-manager", "addrepo", fmt::format("--from-repofile={}", url)};
  } else {
    AddRepositoryTool(planning, page);
  }
  AddCommand(planning.plan, "repository", "add NVIDIA's repository", page, std::move(argv),
             {"/usr/bin/rm", "-f", fmt::format("/etc/yum.repos.d/cuda-{}.repo", tag)});
}

void AddDkmsSources(Planning& planning) {
  const HostFacts& facts = planning.facts;
  const unsigned major = facts.distribution.major;
  if (facts.distribution.family != Family::kRhel || facts.HasPackage("epel-release") ||
      facts.HasPackage("dkms")) {
    return;
  }
  if (facts.distribution.id == "rhel") {
    AddEpelOfSubscribers(planning);
    return;
  }
  const std::string dnf = Dnf(facts);
  const bool is_oracle = facts.distribution.id == "ol";
  std::string id = major == 8 ? "powertools" : "crb";
  std::string package = "epel-release";
  if (is_oracle) {
    id = fmt::format("ol{}_codeready_builder", major);
    package = fmt::format("oracle-epel-release-el{}", major);
  }
  AddRepositoryTool(planning, pages::kRhel);
  AddCommand(planning.plan, "builder-repository", "add the repository that EPEL builds on",
             pages::kRhel, {dnf, "config-manager", "--set-enabled", id},
             {dnf, "config-manager", "--set-disabled", id});
  AddStep(planning.plan, "epel", "add EPEL, which has DKMS", pages::kRhel,
          InstallPackages{{std::move(package)}});
}

void AddDnfHeaders(Planning& planning, std::string_view page) {
  const KernelPackage kernel = KernelPackageOf(planning.facts);
  std::vector<std::string> names = {fmt::format("{}-devel-{}", kernel.stem, kernel.release)};
  if (planning.facts.distribution.family == Family::kAmazon) {
    names.push_back(fmt::format("{}-headers", kernel.stem));
    names.push_back(fmt::format("{}-modules-extra-{}", kernel.stem, kernel.release));
  } else {
    names.emplace_back("kernel-headers");  // one for all kernels
  }
  AddStep(planning.plan, "headers", "install the headers of the kernel", page,
          InstallPackages{std::move(names)});
}

void AddModuleStream(Planning& planning, const std::string& stream, std::string_view page) {
  const std::string dnf = Dnf(planning.facts);
  AddCommand(planning.plan, "stream-reset", "leave another stream of the driver", page,
             {dnf, "-y", "module", "reset", "nvidia-driver"});
  AddCommand(planning.plan, "stream", "choose the stream of this branch and kind", page,
             {dnf, "-y", "module", "enable", fmt::format("nvidia-driver:{}", stream)},
             {dnf, "-y", "module", "reset", "nvidia-driver"});
}

void AddVersionLock(Planning& planning) {
  const std::string dnf = Dnf(planning.facts);
  std::vector<std::string> patterns = {fmt::format("*nvidia*{}*", planning.choice.version)};
  if (HasNvLink5(planning.facts) && planning.facts.arch == "x86_64") {
    patterns.push_back(fmt::format("libnvsdm*{}*", planning.choice.version));
  }
  if (!HasDnf5(planning.facts)) {
    AddStep(planning.plan, "lock-tool", "install what holds versions", pages::kVersionLock,
            InstallPackages{{"python3-dnf-plugin-versionlock"}});
  }
  std::vector<std::string> lock = {dnf, "versionlock", "add"};
  std::vector<std::string> free = {dnf, "versionlock", "delete"};
  lock.insert(lock.end(), patterns.begin(), patterns.end());
  free.insert(free.end(), patterns.begin(), patterns.end());
  AddCommand(planning.plan, "branch", "stay on this branch", pages::kVersionLock, std::move(lock),
             std::move(free));
}

}  // namespace kgpu::driver
