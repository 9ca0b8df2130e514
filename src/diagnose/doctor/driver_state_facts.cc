#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/diagnose/doctor/facts.h"
#include "src/host/facts/installed_packages.h"
#include "src/host/facts/kernel_packages.h"
#include "src/host/inspect/ldcache.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/find_program.h"

namespace kgpu::doctor {
namespace {

// Name prefixes of the driver's packages: modules and user space, which have one version. Tools
// with versions of their own are not among them.
constexpr std::array<std::string_view, 15> kDriverPackages = {"nvidia-kernel-dkms",
                                                              "nvidia-dkms-",
                                                              "nvidia-kernel-open-dkms",
                                                              "nvidia-open-kernel-dkms",
                                                              "libcuda1",
                                                              "libnvidia-ml1",
                                                              "libnvidia-compute-",
                                                              "nvidia-utils-",
                                                              "nvidia-compute-utils-",
                                                              "kmod-nvidia-",
                                                              "nvidia-driver-cuda",
                                                              "nvidia-driver-libs",
                                                              "nvidia-kmod-common",
                                                              "nvidia-compute-G06",
                                                              "nvidia-open-driver-G06-"};

// The kernel looks there first: the driver container of an operator sets it to its own folder.
bool HasOwnFirmware(host::Sight& sight, const std::string& version) {
  const std::string folder = sight.Line("sys/module/firmware_class/parameters/path");
  return !folder.empty() && !version.empty() &&
         sight.host().Exists(fmt::format("{}/nvidia/{}", folder, version));
}

// Modules that were built for one kernel stay beside it, of the driver's version of that day:
// "kmod-nvidia-6.5.6-300.fc39.x86_64", "kmod-nvidia-535.104.05-5.14.0-362.8.1".
bool IsForAnotherKernel(std::string_view name, std::string_view release) {
  if (!name.starts_with("kmod-nvidia-") || release.empty()) {
    return false;
  }
  bool has_kernel = false;
  for (size_t at = name.find('-'); at != std::string_view::npos; at = name.find('-', at + 1)) {
    const std::string_view rest = name.substr(at + 1);
    if (!rest.empty() && release.starts_with(rest)) {
      return false;
    }
    const size_t dot = rest.find_first_not_of("0123456789");
    has_kernel |= dot != 0 && dot != std::string_view::npos && rest[dot] == '.';
  }
  return has_kernel;
}

void NotePackage(std::string_view name, std::string_view text, std::string_view release,
                 InstallFacts& facts) {
  const std::string version = host::UpstreamVersion(text);
  if (!host::IsDriverVersion(version)) {
    return;
  }
  const bool is_fabric = name.starts_with("nvidia-fabricmanager") ||
                         name.starts_with("nvidia-fabric-manager") ||
                         name.starts_with("cuda-drivers-fabricmanager");
  if (is_fabric) {
    // Headers are of no version that matters here.
    facts.fabric_version =
        name.find("-dev") == std::string_view::npos ? version : facts.fabric_version;
    return;
  }
  const auto starts = [name](std::string_view start) { return name.starts_with(start); };
  if (std::ranges::any_of(kDriverPackages, starts) && !IsForAnotherKernel(name, release)) {
    facts.packages[std::string(name)] = version;
  }
}

void NoteHeaders(host::Sight& sight, const host::Distribution& distribution,
                 const host::Packages& packages, InstallFacts& facts) {
  for (const std::string& release : host::KernelsWithModules(sight.host())) {
    facts.headers[release] = host::HeadersPackage(distribution, release, packages);
  }
}

// dpkg's module packages are built for every kernel: their names say nothing about one.
void ReadPackages(host::Sight& sight, sys::ProgramRunner& runner,
                  const host::Distribution& distribution, InstallFacts& facts) {
  const auto status = sight.Text("var/lib/dpkg/status", host::kPackagesLimit);
  const host::Packages installed = host::ParseDpkgStatus(status.value_or(""));
  for (const auto& [name, package] : installed) {
    if (!package.is_unfinished) {
      NotePackage(name, package.version, "", facts);
    }
  }
  if (!IsLikeRedHat(distribution.family) && distribution.family != host::Family::kSuse) {
    NoteHeaders(sight, distribution, installed, facts);
    return;
  }
  const StatusOr<host::Packages> kernels = host::AskRpm(sight.host(), runner, "kernel*");
  NoteHeaders(sight, distribution, kernels.value_or(host::Packages()), facts);
  const StatusOr<host::Packages> packages = host::AskRpm(sight.host(), runner, "*nvidia*");
  if (!packages.ok()) {
    sight.Say(fmt::format("packages of the driver: {}", Message(packages.status())));
    return;
  }
  const std::string release = host::RunningKernel(sight.host());
  for (const auto& [name, package] : *packages) {
    NotePackage(name, package.version, release, facts);
  }
}

std::optional<bool> IsCudaInCache(const sys::Root& driver) {
  const StatusOr<std::string> bytes = driver.ReadFile("etc/ld.so.cache", host::kLdCacheLimit);
  if (!bytes.ok()) {
    return std::nullopt;
  }
  const auto entries = host::ParseLdCache(*bytes);
  if (!entries.ok()) {
    return std::nullopt;
  }
  return std::ranges::any_of(
      *entries, [](const host::LdCacheEntry& entry) { return entry.name == "libcuda.so.1"; });
}

void NoteClosed(host::Sight& sight, const std::string& path, DeviceFacts& facts) {
  const StatusOr<struct stat> info = sight.host().Stat(path);
  if (info.ok() && (info->st_mode & 0006) != 0006) {
    facts.closed.push_back(fmt::format("{} ({:04o})", path, info->st_mode & 0777));
  }
}

}  // namespace

InstallFacts ReadInstallFacts(host::Sight& sight, sys::ProgramRunner& runner,
                              const host::Distribution& distribution, const host::DriverRoot& root,
                              const host::DriverFacts& driver) {
  InstallFacts facts;
  ReadPackages(sight, runner, distribution, facts);
  facts.files = host::CheckPackageFiles(root.driver, runner);
  for (const std::string& skipped : facts.files.skipped) {
    sight.Say(skipped);
  }
  facts.is_by_kgpu = root.host.Exists(host::kDriverJournal);
  for (const std::string_view folder : {"lib/firmware", "usr/lib/firmware"}) {
    facts.has_firmware |=
        !driver.module_version.empty() &&
        root.driver.Exists(fmt::format("{}/nvidia/{}", folder, driver.module_version));
  }
  facts.has_firmware |= HasOwnFirmware(sight, driver.module_version);
  facts.is_cuda_in_cache = IsCudaInCache(root.driver);
  facts.has_fabric_manager = !sys::FindProgram(root.driver, "nv-fabricmanager").empty();
  return facts;
}

DeviceFacts ReadDeviceFacts(host::Sight& sight) {
  DeviceFacts facts;
  StatusOr<host::DeviceNodes> nodes = host::ReadDeviceNodes(sight.host());
  if (nodes.ok()) {
    facts.nodes = *std::move(nodes);
  }
  for (const std::string& name : sight.Names("dev")) {
    if (name.starts_with("nvidia")) {
      facts.names.insert(name);
    }
  }
  for (const host::GpuNode& gpu : facts.nodes.gpus) {
    NoteClosed(sight, gpu.node.path, facts);
  }
  for (const auto& node : {facts.nodes.control, facts.nodes.uvm}) {
    if (node) {
      NoteClosed(sight, node->path, facts);
    }
  }
  facts.gpu_count = sight.Names("proc/driver/nvidia/gpus").size();
  const auto monitor = sight.Text("proc/driver/nvidia/capabilities/mig/monitor");
  if (monitor) {
    const StatusOr<unsigned> minor = host::ParseCapMinor(*monitor);
    facts.mig_monitor = minor.ok() ? std::optional<unsigned>(*minor) : std::nullopt;
  }
  return facts;
}

ServiceFacts ReadServiceFacts(host::Sight& sight) {
  ServiceFacts facts;
  // The kernel keeps 15 characters of a name.
  facts.persistence = host::FindDaemons(sight.host(), {"nvidia-persiste"});
  facts.has_persistence_socket = sight.host().Exists("run/nvidia-persistenced/socket");
  facts.fabric = host::FindDaemons(sight.host(), {"nv-fabricmanage"});
  facts.has_rdma = !sight.Names("sys/class/infiniband").empty();
  return facts;
}

}  // namespace kgpu::doctor
