#include "src/setup/driver/host_facts.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "src/host/inspect/installed_kernels.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/find_program.h"
#include "src/platform/sys/systemctl.h"

namespace kgpu::driver {
namespace {

constexpr std::array<std::string_view, 28> kPrograms = {"amazon-linux-extras",
                                                        "apt-cache",
                                                        "apt-get",
                                                        "apt-mark",
                                                        "curl",
                                                        "dkms",
                                                        "dnf",
                                                        "dnf5",
                                                        "dpkg",
                                                        "dpkg-query",
                                                        "dracut",
                                                        "grubby",
                                                        "kmodsign",
                                                        "mkinitcpio",
                                                        "mokutil",
                                                        "nvidia-modprobe",
                                                        "nvidia-uninstall",
                                                        "podman",
                                                        "rpm",
                                                        "sh",
                                                        "subscription-manager",
                                                        "systemctl",
                                                        "transactional-update",
                                                        "update-grub",
                                                        "update-initramfs",
                                                        "update-secureboot-policy",
                                                        "yum",
                                                        "zypper"};

constexpr std::string_view kPrebuiltModules = "linux-modules-nvidia-";

StatusOr<Kernel> ReadKernel(const sys::Root& host, const std::string& running,
                            const FactsOptions& options) {
  const std::string& wanted = options.kernel;
  Kernel kernel;
  kernel.installed = host::KernelsWithModules(host);
  const bool is_here = std::ranges::find(kernel.installed, running) != kernel.installed.end();
  if (!wanted.empty()) {
    if (wanted.find('/') != std::string::npos || wanted.front() == '.') {
      return InvalidArgument("--kernel: \"{}\" must be a kernel release as printed by uname -r",
                             Printable(wanted, 60));
    }
    kernel.release = wanted;
  } else if (is_here) {
    kernel.release = running;
  } else if (!kernel.installed.empty()) {
    kernel.release = kernel.installed.back();
  } else if (!options.needs_kernel) {
    kernel.release = running;
  } else {
    return FailedPrecondition(
        "{}: no kernel is installed there: set the one it will have with --kernel",
        host.At("lib/modules"));
  }
  kernel.is_running = !running.empty() && kernel.release == running;
  kernel.flavour = FlavourOf(kernel.release);
  kernel.has_headers = host.Exists(fmt::format("lib/modules/{}/build/Makefile", kernel.release));
  return kernel;
}

// The kernel says it, or, below a root without procfs, the loader that programs there name.
std::string ReadArch(const sys::Root& host) {
  std::string arch(Trim(host.ReadFile("proc/sys/kernel/arch").value_or("")));
  if (!arch.empty()) {
    return arch;
  }
  const bool is_arm =
      host.Exists("lib/ld-linux-aarch64.so.1") && !host.Exists("lib64/ld-linux-x86-64.so.2");
  return is_arm ? "aarch64" : "x86_64";
}

// From the lists that apt has here: asks no server.
void ReadPrebuilt(const sys::Root& host, sys::ProgramRunner& runner, HostFacts& facts) {
  const std::string program = facts.Program("apt-cache");
  if (facts.distribution.family != host::Family::kUbuntu || program.empty()) {
    return;
  }
  sys::RunRequest request = sys::RequestOf(
      host, {program, "pkgnames", std::string(kPrebuiltModules)}, std::chrono::seconds{60});
  request.output_limit = host::kPackagesLimit;
  const StatusOr<sys::RunResult> result = runner.Run(request);
  if (!result.ok() || !result->IsSuccess()) {
    return;
  }
  for (const std::string_view line : Split(result->out, '\n')) {
    if (line.starts_with(kPrebuiltModules)) {
      facts.prebuilt_modules.emplace_back(line);
    }
  }
}

void ReadPackages(const sys::Root& host, sys::ProgramRunner& runner, HostFacts& facts) {
  if (const auto status = host.ReadFile("var/lib/dpkg/status", host::kPackagesLimit); status.ok()) {
    facts.packages = host::ParseDpkgStatus(*status);
    return;
  }
  StatusOr<host::Packages> packages = host::AskRpm(host, runner, "*");
  if (packages.ok()) {
    facts.packages = *std::move(packages);
  } else if (packages.status().code() != StatusCode::kNotFound) {
    facts.problems.push_back(
        fmt::format("which packages are installed: {}", Message(packages.status())));
  }
}

// Ubuntu's modules that come built have the version of their kernel.
bool HasDriversVersion(const host::Packages::value_type& package) {
  return host::IsModulePackage(package.first) && !package.first.starts_with("linux-modules-");
}

void ReadExisting(HostFacts& facts) {
  const host::Facts& host = facts.host;
  facts.existing_version = host.driver.module_version;
  if (facts.existing_version.empty() && !host.driver.library_versions.empty()) {
    facts.existing_version = host.driver.library_versions.back();
  }
  const auto is_module = [](const auto& one) { return host::IsModulePackage(one.first); };
  if (std::ranges::any_of(facts.packages, is_module)) {
    facts.existing = Existing::kPackages;
    // The loaded module may be older: an upgrade of the packages does not change it.
    const auto versioned = std::ranges::find_if(facts.packages, HasDriversVersion);
    if (versioned != facts.packages.end()) {
      facts.existing_version = host::UpstreamVersion(versioned->second.version);
    }
  } else if (host.has_runfile) {
    facts.existing = Existing::kRunFile;
  } else if (host.has_driver()) {
    facts.existing = Existing::kOther;
  }
}

void ReadTools(const sys::Root& host, HostFacts& facts) {
  for (const std::string_view name : kPrograms) {
    if (const std::string path = sys::FindProgram(host, name); !path.empty()) {
      facts.programs.insert(path);
    }
  }
  for (const std::string_view name : {"update-initramfs", "dracut", "mkinitcpio"}) {
    if (facts.initramfs.empty() && !facts.Program(name).empty()) {
      facts.initramfs = name;
    }
  }
  if (!facts.Program("grubby").empty()) {
    facts.bootloader = "grubby";
  } else if (host.Exists("etc/default/grub")) {
    facts.bootloader = "grub";
  } else if (host.Exists("etc/kernel/cmdline")) {
    facts.bootloader = "systemd-boot";
  }
  facts.has_systemd = sys::HasSystemd(host);
}

void ReadUsers(const sys::Root& host, sys::ProgramRunner& runner, HostFacts& facts) {
  const std::string systemctl = facts.Program("systemctl");
  if (facts.has_systemd && !systemctl.empty()) {
    StatusOr<std::vector<std::string>> users = FindGpuUnits(host, systemctl, runner);
    if (users.ok()) {
      facts.users = *std::move(users);
    } else {
      facts.problems.push_back(
          fmt::format("which units use the GPUs: {}", Message(users.status())));
    }
  }
  facts.holders = FindGpuHolders(host);
}

void ReadSpace(const sys::Root& host, HostFacts& facts) {
  using Space = struct statvfs;
  for (const char* folder : {"/usr", "/var", "/boot"}) {
    Space info = {};
    const auto path = host.Resolve(folder);
    if (path.ok() && statvfs(host.At(*path).c_str(), &info) == 0) {
      facts.space.push_back({folder, uint64_t{info.f_bavail} * info.f_frsize});
    }
  }
}

}  // namespace

std::string FlavourOf(std::string_view release) {
  // The suffix after the numbers: "6.1.0-56-cloud-amd64", "6.8.0-1029-nvidia-64k".
  for (size_t dash = release.find('-'); dash != std::string_view::npos;
       dash = release.find('-', dash + 1)) {
    const std::string_view rest = release.substr(dash + 1);
    if (!rest.empty() && (rest[0] < '0' || rest[0] > '9')) {
      return std::string(rest);
    }
  }
  return {};
}

std::string HostFacts::Program(std::string_view name) const {
  const std::string end = fmt::format("/{}", name);
  const auto found = std::ranges::find_if(
      programs, [&end](const std::string& path) { return path.ends_with(end); });
  return found == programs.end() ? "" : *found;
}

StatusOr<DriverFile> ReadDriverFile(const sys::Root& host, const std::string& path) {
  ASSIGN_OR_RETURN(const UniqueFd fd, host.OpenFile(path, O_RDONLY));
  std::string head(kFileHeadLimit, '\0');
  const ssize_t count = TEMP_FAILURE_RETRY(pread(fd.get(), head.data(), head.size(), 0));
  if (count < 0) {
    return ErrnoStatus(errno, fmt::format("read {}", host.At(path)));
  }
  head.resize(static_cast<size_t>(count));
  return ParseDriverFile(path.starts_with('/') ? path : fmt::format("/{}", path), head);
}

StatusOr<HostFacts> GatherHostFacts(const host::DriverRoot& root, sys::ProgramRunner& runner,
                                    const FactsOptions& options) {
  const sys::Root& host = root.host;
  HostFacts facts;
  StatusOr<host::Distribution> distribution = host::ReadDistribution(host);
  if (!distribution.ok()) {
    return FailedPrecondition(
        "{}: cannot identify the distribution: set --host-root to the root of a whole system",
        Message(distribution.status()));
  }
  facts.distribution = *std::move(distribution);
  const std::optional<host::DriverRoot> other = host::FindOtherRoot(root);
  facts.host = host::GatherFacts(other ? *other : root, runner);
  facts.problems = facts.host.unreadable;
  StatusOr<Kernel> kernel = ReadKernel(host, facts.host.kernel.release, options);
  if (kernel.ok()) {
    facts.kernel = *std::move(kernel);
  } else if (facts.distribution.immutable == host::Immutable::kNone) {
    return kernel.status();
  }
  facts.arch = ReadArch(host);
  for (const host::GpuFacts& gpu : facts.host.pci.gpus) {
    facts.gpus.push_back({gpu.pci.device_id, GenerationOf(gpu.pci.device_id)});
  }
  if (!options.file.empty()) {
    StatusOr<DriverFile> file = ReadDriverFile(host, options.file);
    if (!file.ok()) {
      return Annotate(file.status(), "--source");
    }
    facts.file = *std::move(file);
  }
  facts.nvswitches = static_cast<unsigned>(facts.host.pci.nvswitches.size());
  ReadTools(host, facts);
  ReadUsers(host, runner, facts);
  ReadPackages(host, runner, facts);
  ReadPrebuilt(host, runner, facts);
  facts.apt = ReadAptSources(host);
  facts.repositories = ReadRpmRepositories(host);
  facts.stream = ReadModuleStream(host, "nvidia-driver");
  facts.locked_versions = ReadLockedVersions(host);
  facts.version_locks = host.ReadFile("etc/dnf/versionlock.toml").value_or("");
  ReadSpace(host, facts);
  ReadExisting(facts);
  return facts;
}

}  // namespace kgpu::driver
