#include "src/setup/driver/apt_steps.h"

#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "src/host/facts/kernel_packages.h"
#include "src/platform/base/strings.h"
#include "src/setup/driver/nvidia_repository.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {
namespace {

constexpr std::string_view kSourcesFile = "/etc/apt/sources.list.d/kgpu-nvidia.sources";
constexpr std::string_view kPreferencesFile = "/etc/apt/preferences.d/kgpu-nvidia";
// From here on NVIDIA has packages that do nothing but hold a branch or a version.
constexpr unsigned kFirstPinning = 570;
constexpr std::string_view kKeyring = "cuda-keyring_1.1-1_all.deb";

struct Repository {
  std::string uri;
  std::string suite;
  std::string signed_by;
  auto operator<=>(const Repository&) const = default;
};

bool IsArchive(const Repository& repository, const std::vector<std::string>& components,
               const HostFacts& facts) {
  const bool has_main = std::ranges::find(components, "main") != components.end();
  const std::string& codename = facts.distribution.codename;
  const std::string_view name =
      facts.distribution.family == host::Family::kUbuntu ? "ubuntu" : "debian";
  return has_main && !codename.empty() && repository.suite.starts_with(codename) &&
         repository.uri.find(name) != std::string::npos;
}

// The archive's repositories of this host, each with the components it lacks.
std::map<Repository, std::vector<std::string>> MissingComponents(
    const HostFacts& facts, const std::vector<std::string>& wanted) {
  std::map<Repository, std::vector<std::string>> has;
  for (const AptSource& source : facts.apt) {
    std::vector<std::string>& components = has[{source.uri, source.suite, source.signed_by}];
    components.insert(components.end(), source.components.begin(), source.components.end());
  }
  std::map<Repository, std::vector<std::string>> missing;
  for (const auto& [repository, components] : has) {
    if (!IsArchive(repository, components, facts)) {
      continue;
    }
    for (const std::string& component : wanted) {
      if (std::ranges::find(components, component) == components.end()) {
        missing[repository].push_back(component);
      }
    }
  }
  return missing;
}

std::vector<std::string> UpdateCommand(const Planning& planning) {
  return {ProgramOr(planning.facts, "apt-get", "/usr/bin/apt-get"), "update"};
}

// Its key and its file of sources come by a package.
void AddAptRepository(Planning& planning, std::string_view page) {
  if (planning.facts.HasPackage("cuda-keyring")) {
    return;
  }
  const std::string file = fmt::format("/var/cache/apt/{}", kKeyring);
  const std::string dpkg = ProgramOr(planning.facts, "dpkg", "/usr/bin/dpkg");
  // apt's own fetcher: a host has neither curl nor wget by rights.
  AddCommand(planning.plan, "repository-key", "download the key of NVIDIA's repository", page,
             {"/usr/lib/apt/apt-helper", "download-file",
              fmt::format("{}/{}", RepositoryUrl(planning.facts), kKeyring), file},
             {"/bin/rm", "-f", file});
  AddCommand(planning.plan, "repository", "add NVIDIA's repository", page, {dpkg, "-i", file},
             {dpkg, "--purge", "cuda-keyring"});
}

// apt is kept on the plan's branch or version, where names of packages do not say it: of what the
// fabric manager and the driver are called alike, both have to be of one version.
void AddAptBranch(Planning& planning) {
  const std::string& version = planning.choice.version;
  const bool is_local = planning.choice.source == SourceKind::kLocalRepo;
  if (!is_local && planning.choice.branch() >= kFirstPinning) {
    AddStep(planning.plan, "branch", "pin this branch", pages::kVersionLock,
            InstallPackages{{fmt::format("nvidia-driver-pinning-{}", version)}});
    return;
  }
  // Names with the branch in them do for Ubuntu's, until it is one version that is wanted: what a
  // package depends on apt takes as new as it finds it.
  if (planning.choice.is_whole() || planning.facts.distribution.family != host::Family::kUbuntu) {
    AddStep(planning.plan, "branch", "pin this version", pages::kVersionLock,
            WriteFile{.path = std::string(kPreferencesFile),
                      .text = fmt::format("# Written by kgpu: pins the driver's packages at {0}.\n"
                                          "Package: *nvidia* libnvsdm* cuda-drivers*\n"
                                          "Pin: version {0}{1}*\n"
                                          "Pin-Priority: 900\n",
                                          version, planning.choice.is_whole() ? "-" : ".")});
  }
}

}  // namespace

std::string DebianInfix(const Planning& planning) {
  const bool is_older = planning.facts.distribution.major == 12 && planning.choice.branch() == 470;
  return is_older ? "-tesla-470" : "";
}

void AddArchiveComponents(Planning& planning, const std::vector<std::string>& wanted,
                          std::string_view page) {
  std::string text = "# Written by kgpu: the archive components with NVIDIA's driver.\n";
  const auto missing = MissingComponents(planning.facts, wanted);
  for (const auto& [repository, components] : missing) {
    fmt::format_to(std::back_inserter(text), "\nTypes: deb\nURIs: {}\nSuites: {}\nComponents: {}\n",
                   repository.uri, repository.suite, Join(components, " "));
    if (!repository.signed_by.empty()) {
      fmt::format_to(std::back_inserter(text), "Signed-By: {}\n", repository.signed_by);
    }
  }
  if (!missing.empty()) {
    AddStep(planning.plan, "package-sources", "add the components with the driver", page,
            WriteFile{.path = std::string(kSourcesFile), .text = text});
  }
}

void AddPackageLists(Planning& planning, std::string_view page) {
  AddCommand(planning.plan, "package-lists", "update the package lists", page,
             UpdateCommand(planning));
}

void AddAptHeaders(Planning& planning, std::string_view page) {
  const HostFacts& facts = planning.facts;
  const std::string& release = facts.kernel.release;
  const std::string own = host::HeadersPackage(facts.distribution, release, facts.packages);
  std::vector<std::string> names = {own};
  std::vector<std::string> following =
      host::FollowingHeaders(release, facts.kernel.flavour, facts.packages);
  if (release.find("+bpo") != std::string::npos && !following.empty()) {
    // Without its suite apt takes the stable kernel's.
    planning.plan.notes.push_back(
        fmt::format("the kernel comes from backports; to build the driver for its updates too: "
                    "apt-get install -t {}-backports {}",
                    facts.distribution.codename, Join(following, " ")));
    following.clear();
  } else if (following.empty()) {
    planning.plan.notes.push_back(
        fmt::format("no package installs new kernels of the flavor {} here: install the headers "
                    "({}RELEASE) of each new kernel before the kernel, or the driver "
                    "is not built for it",
                    facts.kernel.flavour.empty() ? release : facts.kernel.flavour,
                    own.substr(0, own.find(release))));
  }
  names.insert(names.end(), following.begin(), following.end());
  AddStep(planning.plan, "headers",
          following.empty() ? "install the kernel headers"
                            : "install the headers of the kernel and its updates",
          page, InstallPackages{std::move(names)});
}

void AddOwnPreference(Planning& planning) {
  AddStep(planning.plan, "branch", "use the driver of Debian's archive", pages::kVersionLock,
          WriteFile{.path = std::string(kPreferencesFile),
                    .text = "# Written by kgpu: the driver's packages come from Debian's archive.\n"
                            "Package: *nvidia* libcuda1* libcudadebugger1 libnvcuvid1 libnvoptix1 "
                            "libxnvctrl* cuda-drivers*\n"
                            "Pin: release o=Debian\n"
                            "Pin-Priority: 900\n"});
}

void AddAptPackages(Planning& planning, std::string_view page, std::string_view lists_title) {
  AddCommand(planning.plan, "repository-lists", lists_title, page, UpdateCommand(planning));
  AddMigration(planning);
  AddAptBranch(planning);
  AddStep(planning.plan, "packages", "install the driver", page,
          InstallPackages{AptPackages(planning)});
}

void AddNvidiaAptPackages(Planning& planning, std::string_view page) {
  planning.traits.page = page;
  planning.traits.has_fabric_manager = HasFabric(planning.facts);
  AddPackageLists(planning, page);
  AddAptHeaders(planning, page);
  AddAptRepository(planning, page);
  AddAptPackages(planning, page, "update the list of NVIDIA's packages");
}

}  // namespace kgpu::driver
