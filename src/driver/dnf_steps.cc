#include "src/driver/dnf_steps.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/driver/nvidia_repository.h"

namespace kgpu::driver {

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
    AddStep(planning.plan, "repository-tool", "install what adds repositories", page,
            InstallPackages{{"dnf-plugins-core"}});
  }
  AddCommand(planning.plan, "repository", "add NVIDIA's repository", page, std::move(argv),
             {"/usr/bin/rm", "-f", fmt::format("/etc/yum.repos.d/cuda-{}.repo", tag)});
}

void AddDnfHeaders(Planning& planning, std::string_view page) {
  const std::string& release = planning.facts.kernel.release;
  std::string stem = "kernel";
  if (release.find("uek") != std::string::npos) {
    stem = "kernel-uek";  // Oracle's own
  } else if (planning.facts.distribution.family == Family::kAmazon &&
             !release.starts_with("6.1.")) {
    // Amazon's newer kernels are packages of their own: kernel6.12.
    stem = fmt::format("kernel{}", release.substr(0, release.find('.', release.find('.') + 1)));
  }
  std::vector<std::string> names = {fmt::format("{}-devel-{}", stem, release),
                                    fmt::format("{}-headers", stem)};
  if (planning.facts.distribution.family == Family::kAmazon) {
    names.push_back(fmt::format("{}-modules-extra-{}", stem, release));
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

void AddVersionLock(Planning& planning, std::string_view page) {
  const std::string dnf = Dnf(planning.facts);
  const std::string pattern = fmt::format("*nvidia*{}*", planning.choice.version);
  if (!HasDnf5(planning.facts)) {
    AddStep(planning.plan, "lock-tool", "install what holds versions", page,
            InstallPackages{{"python3-dnf-plugin-versionlock"}});
  }
  AddCommand(planning.plan, "branch", "stay on this branch", page,
             {dnf, "versionlock", "add", pattern}, {dnf, "versionlock", "delete", pattern});
}

}  // namespace kgpu::driver
