// A driver from a file on the host: NVIDIA's installers, and packages that contain a
// repository.
#include <fmt/format.h>

#include "src/platform/base/status_macros.h"
#include "src/setup/driver/apt_steps.h"
#include "src/setup/driver/dnf_steps.h"
#include "src/setup/driver/nvidia_repository.h"
#include "src/setup/driver/pages.h"
#include "src/setup/driver/planner.h"

namespace kgpu::driver {
namespace {

constexpr std::string_view kSigningFolder = "/var/lib/kgpu/signing";
// Before this branch there is one kind of modules, and no flag to choose it by.
constexpr unsigned kFirstOpen = 515;

bool HasDkms(const Planning& planning) {
  return !planning.facts.Program("dkms").empty();
}

// The installer signs what it builds, if it is given a key; DKMS has its own key.
bool NeedsSigning(const Planning& planning) {
  return planning.facts.kernel.is_running && !HasDkms(planning) &&
         planning.facts.host.kernel.secure_boot.value_or(false);
}

void AddSigningKey(Planning& planning) {
  const std::string certificate = fmt::format("{}/module.der", kSigningFolder);
  const std::string key = fmt::format("{}/module.key", kSigningFolder);
  planning.traits.mok_key = certificate;
  AddStep(planning.plan, "signing-tool", "install openssl", pages::kSecureBoot,
          InstallPackages{{"openssl"}});
  // A key that is here stays: the firmware may know it already.
  AddCommand(
      planning.plan, "signing-key", "create a key to sign the modules", pages::kSecureBoot,
      {"/bin/sh", "-c",
       fmt::format("test -f {1} && exit 0; umask 077; mkdir -p {2} && exec openssl req -x509 "
                   "-new -nodes -newkey rsa:2048 -sha256 -days 7300 -subj '/CN=kgpu, modules of "
                   "this host/' -outform DER -keyout {0} -out {1}",
                   key, certificate, kSigningFolder)});
}

// Which modules: a word from branch 560 on, a folder before. Source: `--advanced-options` of the
// installer.
void AddKind(const Choice& choice, std::vector<std::string>& argv) {
  if (choice.branch() >= 560) {
    argv.push_back(fmt::format("--kernel-module-type={}", ToString(choice.kind)));
  } else if (choice.branch() >= kFirstOpen) {
    argv.emplace_back(choice.kind == ModuleKind::kOpen ? "-m=kernel-open" : "-m=kernel");
  }
}

std::vector<std::string> DriverArguments(const Planning& planning, const std::string& path) {
  std::vector<std::string> argv = {"/bin/sh",
                                   path,
                                   "--silent",
                                   "--no-x-check",
                                   "--no-install-compat32-libs",
                                   fmt::format("--kernel-name={}", planning.plan.kernel)};
  if (!planning.has_display) {
    argv.emplace_back("--no-drm");
  }
  AddKind(planning.choice, argv);
  if (planning.choice.branch() >= 550) {
    argv.emplace_back("--skip-module-load");
  }
  if (HasDkms(planning)) {
    argv.emplace_back("--dkms");
  } else if (NeedsSigning(planning)) {
    argv.push_back(fmt::format("--module-signing-secret-key={}/module.key", kSigningFolder));
    argv.push_back(fmt::format("--module-signing-public-key={}/module.der", kSigningFolder));
  }
  return argv;
}

std::vector<std::string> CudaArguments(const Planning& planning, const std::string& path) {
  std::vector<std::string> argv = {"/bin/sh", path, "--silent", "--driver"};
  if (planning.choice.branch() >= kFirstOpen) {
    argv.push_back(planning.choice.kind == ModuleKind::kOpen ? "-m=kernel-open" : "-m=kernel");
  }
  return argv;
}

// An installer's driver of this version and kind runs already: it is not to be run over it.
bool IsHere(const Planning& planning, const DriverFile& file) {
  const HostFacts& facts = planning.facts;
  return facts.existing == Existing::kRunFile && facts.existing_version == file.version &&
         facts.host.driver.module_version == file.version && !NeedsUnload(facts, planning.plan);
}

Status CheckCudaFile(const Planning& planning, const DriverFile& file) {
  if (!planning.facts.kernel.is_running) {
    return FailedPrecondition(
        "--source: {}: CUDA's installer builds only for the running kernel: use the driver's own "
        "installer, or boot kernel {}",
        file.path, planning.facts.kernel.release);
  }
  if (planning.facts.host.kernel.secure_boot.value_or(false)) {
    return FailedPrecondition(
        "--source: {}: Secure Boot is enabled, and CUDA's installer accepts no key to sign the "
        "modules: use the driver's own installer",
        file.path);
  }
  return OkStatus();
}

// Never uninstalls another version than ours: the installer may have ended before it changed that
// one. The first line of its log has the installed version: "1.0-5809505 (580.95.05)".
std::vector<std::string> UninstallCommand(std::string_view version) {
  return {"/bin/sh", "-c",
          fmt::format("read -r first </var/lib/nvidia/log; case \"$first\" in *'({})'*) exec "
                      "/usr/bin/nvidia-uninstall --silent;; esac",
                      version)};
}

void AddInstaller(Planning& planning, const DriverFile& file) {
  const bool is_cuda = file.kind == FileKind::kCudaRun;
  RunCommand run;
  run.command.argv =
      is_cuda ? CudaArguments(planning, file.path) : DriverArguments(planning, file.path);
  run.command.deadline = std::chrono::minutes{30};
  const bool has_other = planning.facts.existing == Existing::kRunFile;
  const bool is_same = has_other && planning.facts.existing_version == file.version;
  if (!is_same) {  // else it was here before
    run.undo.argv = UninstallCommand(file.version);
    run.undo.deadline = run.command.deadline;
  }
  AddStep(planning.plan, "installer",
          is_cuda ? "install the driver with CUDA's installer" : "run NVIDIA's installer",
          pages::kRunFile, std::move(run));
  if (has_other && !is_same) {
    planning.plan.steps.back().loses = InstallersDriver(planning.facts);
  }
}

// The keyring's name has digits of the key in it: only the unpacked repository tells it.
void AddRepositoryKey(Planning& planning, const std::string& package) {
  const auto shell = [](std::string text) {
    return std::vector<std::string>{"/bin/sh", "-c", std::move(text)};
  };
  constexpr std::string_view kKeyrings = "/usr/share/keyrings";
  AddCommand(
      planning.plan, "repository-key", "trust its key", pages::kLocalRepo,
      shell(fmt::format("exec cp /var/{}/*-keyring.gpg {}/", package, kKeyrings)),
      shell(fmt::format("for key in /var/{}/*-keyring.gpg; do rm -f \"{}/${{key##*/}}\"; done",
                        package, kKeyrings)));
}

void AddLocalDeb(Planning& planning, const DriverFile& file) {
  AddPackageLists(planning, pages::kLocalRepo);
  AddAptHeaders(planning, pages::kLocalRepo);
  if (!planning.facts.HasPackage(file.package)) {
    AddStep(planning.plan, "repository", "unpack the repository", pages::kLocalRepo,
            InstallPackages{{file.path}});
    AddRepositoryKey(planning, file.package);
  }
  AddAptPackages(planning, pages::kLocalRepo, "update its package list");
}

void AddLocalRpm(Planning& planning, const DriverFile& file) {
  if (!planning.facts.HasPackage(file.package)) {
    AddStep(planning.plan, "repository", "unpack the repository", pages::kLocalRepo,
            InstallPackages{{file.path}});
  }
  AddDkmsSources(planning);
  AddDnfHeaders(planning, pages::kLocalRepo);
  AddMigration(planning);
  if (HasStreams(planning.facts)) {
    AddModuleStream(planning,
                    planning.choice.kind == ModuleKind::kOpen ? "open-dkms" : "latest-dkms",
                    pages::kLocalRepo);
  }
  AddStep(planning.plan, "packages", "install the driver", pages::kLocalRepo,
          InstallPackages{DnfPackages(planning)});
}

}  // namespace

void AddHeaders(Planning& planning, std::string_view page, bool with_compilers) {
  const auto add_compilers = [&](std::vector<std::string> names) {
    if (with_compilers) {
      AddStep(planning.plan, "compilers", "install the compiler and tools", page,
              InstallPackages{std::move(names)});
    }
  };
  switch (planning.facts.distribution.family) {
    case host::Family::kDebian:
    case host::Family::kUbuntu:
      AddPackageLists(planning, page);
      AddAptHeaders(planning, page);
      return add_compilers({"gcc", "make", "kmod"});
    case host::Family::kRhel:
    case host::Family::kFedora:
    case host::Family::kAmazon:
      AddDnfHeaders(planning, page);
      return add_compilers({"gcc", "make", "elfutils-libelf-devel", "kmod"});
    case host::Family::kSuse:
      return AddSuseHeaders(planning, with_compilers ? std::vector<std::string>{"gcc", "make"}
                                                     : std::vector<std::string>());
    default:
      planning.plan.notes.push_back(
          fmt::format("{}: {} of kernel {} must be installed: cannot tell which {}",
                      planning.facts.distribution.name,
                      with_compilers ? "gcc, make and the headers" : "the headers",
                      planning.facts.kernel.release,
                      with_compilers ? "packages have them" : "package has them"));
  }
}

Status AddRunFileSteps(Planning& planning) {
  const DriverFile file = planning.facts.file.value_or(DriverFile{});
  planning.traits.page = pages::kRunFile;
  planning.traits.is_dkms = false;  // the installer itself asks DKMS, where it is
  planning.traits.has_persistence = false;
  if (file.kind == FileKind::kCudaRun) {
    RETURN_IF_ERROR(CheckCudaFile(planning, file));
  }
  if (IsHere(planning, file)) {
    planning.plan.notes.push_back(
        fmt::format("driver {} was already installed by NVIDIA's installer and is running: the "
                    "installer is not run again",
                    file.version));
    return OkStatus();
  }
  AddHeaders(planning, pages::kRunFile, true);
  if (NeedsSigning(planning)) {
    AddSigningKey(planning);
  }
  // The installer stops where nouveau or another version of the modules is loaded.
  AddClearing(planning.facts, planning.traits, planning.plan);
  planning.traits.is_cleared = true;
  AddInstaller(planning, file);
  if (!HasDkms(planning)) {
    planning.plan.notes.emplace_back(
        "without DKMS the modules are built only for this kernel: install dkms first to build them "
        "for each new kernel");
  }
  if (HasFabric(planning.facts)) {
    planning.plan.notes.push_back(
        fmt::format("the installer has no fabric manager, which NVSwitches need: install {} "
                    "nvidia-fabricmanager from NVIDIA's repository",
                    file.version));
  }
  return OkStatus();
}

Status AddLocalRepoSteps(Planning& planning) {
  const DriverFile file = planning.facts.file.value_or(DriverFile{});
  const host::Family family = planning.facts.distribution.family;
  const bool is_deb = file.kind == FileKind::kLocalDeb;
  const bool takes_deb = family == host::Family::kDebian || family == host::Family::kUbuntu;
  const bool takes_rpm = host::UsesDnf(family);
  planning.traits.page = pages::kLocalRepo;
  planning.traits.has_fabric_manager = HasFabric(planning.facts);
  if (is_deb ? !takes_deb : !takes_rpm) {
    return FailedPrecondition(
        "--source: {} is not for {}: use the file that NVIDIA provides for it, or its .run",
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
