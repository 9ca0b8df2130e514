// A driver that lies on the host as a file: NVIDIA's installers, and packages that are a
// repository.
#include <fmt/format.h>

#include "src/driver/apt_steps.h"
#include "src/driver/dnf_steps.h"
#include "src/driver/nvidia_repository.h"
#include "src/driver/pages.h"

namespace kgpu::driver {
namespace {

// What the installer needs to compile the modules.
void AddCompilers(Planning& planning) {
  switch (planning.facts.distribution.family) {
    case Family::kDebian:
    case Family::kUbuntu:
      AddPackageLists(planning, pages::kRunFile);
      AddAptHeaders(planning, pages::kRunFile);
      AddStep(planning.plan, "compilers", "install what compiles the modules", pages::kRunFile,
              InstallPackages{{"gcc", "make", "kmod"}});
      return;
    case Family::kRhel:
    case Family::kFedora:
    case Family::kAmazon:
      AddDnfHeaders(planning, pages::kRunFile);
      AddStep(planning.plan, "compilers", "install what compiles the modules", pages::kRunFile,
              InstallPackages{{"gcc", "make", "elfutils-libelf-devel", "kmod"}});
      return;
    case Family::kSuse:
      AddStep(
          planning.plan, "compilers", "install what compiles the modules", pages::kRunFile,
          InstallPackages{{"gcc", "make",
                           fmt::format("kernel-{}-devel", planning.facts.kernel.flavour.empty()
                                                              ? "default"
                                                              : planning.facts.kernel.flavour)}});
      return;
    case Family::kOther:
      planning.plan.notes.push_back(
          fmt::format("{}: gcc, make and the headers of kernel {} must be here: which packages "
                      "have them is not "
                      "known",
                      planning.facts.distribution.name, planning.facts.kernel.release));
  }
}

// Which modules: a word from branch 560 on, a folder before. Source: `--advanced-options` of the
// installer.
std::string KindFlag(const Choice& choice) {
  if (choice.branch() >= 560) {
    return fmt::format("--kernel-module-type={}", ToString(choice.kind));
  }
  return choice.kind == ModuleKind::kOpen ? "-m=kernel-open" : "-m=kernel";
}

std::vector<std::string> DriverArguments(const Planning& planning, const std::string& path) {
  std::vector<std::string> argv = {"/bin/sh",
                                   path,
                                   "--silent",
                                   "--no-x-check",
                                   "--no-drm",
                                   "--no-install-compat32-libs",
                                   fmt::format("--kernel-name={}", planning.plan.kernel),
                                   KindFlag(planning.choice)};
  if (planning.choice.branch() >= 550) {
    argv.emplace_back("--skip-module-load");
  } else if (!planning.facts.kernel.is_running) {
    argv.emplace_back("--no-kernel-module-source");
  }
  if (!planning.facts.Program("dkms").empty()) {
    argv.emplace_back("--dkms");
  }
  return argv;
}

std::vector<std::string> CudaArguments(const Planning& planning, const std::string& path) {
  std::vector<std::string> argv = {"/bin/sh", path, "--silent", "--driver"};
  if (planning.choice.branch() >= 515) {
    argv.push_back(planning.choice.kind == ModuleKind::kOpen ? "-m=kernel-open" : "-m=kernel");
  }
  return argv;
}

std::string NewestKeyring(const std::string& package) {
  return fmt::format("exec cp /var/{}/*-keyring.gpg /usr/share/keyrings/", package);
}

void AddLocalDeb(Planning& planning, const DriverFile& file) {
  const std::string dpkg = ProgramOr(planning.facts, "dpkg", "/usr/bin/dpkg");
  AddPackageLists(planning, pages::kLocalRepo);
  AddAptHeaders(planning, pages::kLocalRepo);
  AddCommand(planning.plan, "repository", "unpack the repository", pages::kLocalRepo,
             {dpkg, "-i", file.path}, {dpkg, "--purge", file.package});
  AddCommand(planning.plan, "repository-key", "trust its key", pages::kLocalRepo,
             {"/bin/sh", "-c", NewestKeyring(file.package)});
  AddCommand(planning.plan, "repository-lists", "read the list of its packages", pages::kLocalRepo,
             {ProgramOr(planning.facts, "apt-get", "/usr/bin/apt-get"), "update"});
  AddStep(planning.plan, "packages", "install the driver", pages::kLocalRepo,
          InstallPackages{AptPackages(planning)});
}

void AddLocalRpm(Planning& planning, const DriverFile& file) {
  const std::string rpm = ProgramOr(planning.facts, "rpm", "/usr/bin/rpm");
  AddCommand(planning.plan, "repository", "unpack the repository", pages::kLocalRepo,
             {rpm, "--install", "--replacepkgs", file.path}, {rpm, "--erase", file.package});
  AddDnfHeaders(planning, pages::kLocalRepo);
  const Distribution& distribution = planning.facts.distribution;
  const bool has_streams = distribution.family == Family::kAmazon ||
                           (distribution.family == Family::kRhel && distribution.major < 10);
  if (has_streams) {
    AddModuleStream(planning,
                    planning.choice.kind == ModuleKind::kOpen ? "open-dkms" : "latest-dkms",
                    pages::kLocalRepo);
  }
  AddStep(planning.plan, "packages", "install the driver", pages::kLocalRepo,
          InstallPackages{DnfPackages(planning)});
}

}  // namespace

Status AddRunFileSteps(Planning& planning) {
  const DriverFile file = planning.facts.file.value_or(DriverFile{});
  planning.traits.page = pages::kRunFile;
  planning.traits.is_dkms = false;  // the installer itself asks DKMS, where it is
  AddCompilers(planning);
  const bool is_cuda = file.kind == FileKind::kCudaRun;
  RunCommand run;
  run.command.argv =
      is_cuda ? CudaArguments(planning, file.path) : DriverArguments(planning, file.path);
  run.command.deadline = std::chrono::minutes{30};
  run.undo.argv = {"/usr/bin/nvidia-uninstall", "--silent"};
  AddStep(planning.plan, "installer",
          is_cuda ? "install the driver of CUDA's installer" : "run NVIDIA's installer",
          pages::kRunFile, std::move(run));
  if (is_cuda && !planning.facts.kernel.is_running) {
    return Unimplemented(
        "--source: {}: CUDA's installer builds for the running kernel only: take "
        "the driver's own installer, or start kernel {}",
        file.path, planning.facts.kernel.release);
  }
  if (planning.facts.Program("dkms").empty()) {
    planning.plan.notes.emplace_back(
        "without DKMS the modules are for this kernel only: install dkms first, and they are built "
        "for every new one");
  }
  if (HasFabric(planning.facts)) {
    planning.plan.notes.push_back(
        fmt::format("the installer brings no fabric manager, which NVSwitches need: install {} "
                    "nvidia-fabricmanager from NVIDIA's repository",
                    file.version));
  }
  return OkStatus();
}

Status AddLocalRepoSteps(Planning& planning) {
  const DriverFile file = planning.facts.file.value_or(DriverFile{});
  const Family family = planning.facts.distribution.family;
  const bool is_deb = file.kind == FileKind::kLocalDeb;
  const bool takes_deb = family == Family::kDebian || family == Family::kUbuntu;
  const bool takes_rpm =
      family == Family::kRhel || family == Family::kFedora || family == Family::kAmazon;
  planning.traits.page = pages::kLocalRepo;
  planning.traits.has_fabric_manager = HasFabric(planning.facts);
  if (is_deb ? !takes_deb : !takes_rpm) {
    return Unimplemented(
        "--source: {} is not for {}: take the file that NVIDIA offers for it, or "
        "its .run",
        file.path, planning.facts.distribution.name);
  }
  if (is_deb) {
    AddLocalDeb(planning, file);
  } else {
    AddLocalRpm(planning, file);
  }
  return OkStatus();
}

}  // namespace kgpu::driver
