#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/container/engine/find.h"
#include "src/host/inspect/ldcache.h"
#include "src/platform/base/strings.h"
#include "src/setup/doctor/facts.h"

namespace kgpu::doctor {
namespace {

constexpr size_t kPackagesLimit = size_t{32} << 20;

// What the names of the driver's packages begin with: module and user space, which are made of one
// version. Tools with versions of their own are not among them.
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

// "1:535.104.05-1~deb12u1" → "535.104.05"; "" for what is no driver's version.
std::string UpstreamVersion(std::string_view version) {
  version = version.substr(version.find(':') == std::string_view::npos ? 0 : version.find(':') + 1);
  version = version.substr(0, version.find_first_of("-~+_"));
  return host::IsDriverVersion(version) ? std::string(version) : std::string();
}

// The kernel looks there first: an operator's driver container sets it to a folder of its own.
bool HasOwnFirmware(Sight& sight, const std::string& version) {
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
  const std::string version = UpstreamVersion(Trim(text));
  if (version.empty()) {
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

// The database of rpm is no text: its own program reads it.
void AskRpm(Sight& sight, sys::ProgramRunner& runner, InstallFacts& facts) {
  const std::string rpm = engine::FindProgram(sight.host(), "rpm");
  if (rpm.empty()) {
    sight.Say("packages of the driver: no rpm is here");
    return;
  }
  const StatusOr<sys::RunResult> result =
      runner.Run({.argv = {rpm, "-qa", "--qf", "%{NAME} %{VERSION}\\n", "*nvidia*"},
                  .root = sight.host().path()});
  if (!result.ok() || !result->IsSuccess()) {
    sight.Say(fmt::format("packages of the driver: rpm: {}",
                          result.ok() ? sys::Describe(*result) : Message(result.status())));
    return;
  }
  const std::string release = sight.Line("proc/sys/kernel/osrelease");
  for (const std::string_view line : Split(result->out, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() == 2) {
      NotePackage(words[0], words[1], release, facts);
    }
  }
}

// Source: the paragraphs of dpkg's status file, deb-control(5).
void ReadPackages(Sight& sight, InstallFacts& facts) {
  const std::string text = sight.Text("var/lib/dpkg/status", kPackagesLimit).value_or("");
  std::string_view name;
  bool is_installed = false;
  for (const std::string_view line : Split(text, '\n')) {
    if (line.starts_with("Package: ")) {
      name = Trim(line.substr(9));
      is_installed = false;
    } else if (line.starts_with("Status: ")) {
      is_installed = line.ends_with(" ok installed");
    } else if (line.starts_with("Version: ") && is_installed) {
      NotePackage(name, line.substr(9), "", facts);
    }
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

void NoteClosed(Sight& sight, const std::string& path, DeviceFacts& facts) {
  const StatusOr<struct stat> info = sight.host().Stat(path);
  if (info.ok() && (info->st_mode & 0006) != 0006) {
    facts.closed.push_back(fmt::format("{} ({:04o})", path, info->st_mode & 0777));
  }
}

}  // namespace

InstallFacts ReadInstallFacts(Sight& sight, sys::ProgramRunner& runner, Family family,
                              const host::DriverRoot& root, const host::DriverFacts& driver) {
  InstallFacts facts;
  ReadPackages(sight, facts);
  if (family == Family::kRhel || family == Family::kSuse) {
    AskRpm(sight, runner, facts);
  }
  facts.has_runfile = root.driver.Exists("usr/bin/nvidia-uninstall");
  for (const std::string_view folder : {"lib/firmware", "usr/lib/firmware"}) {
    facts.has_firmware |=
        !driver.module_version.empty() &&
        root.driver.Exists(fmt::format("{}/nvidia/{}", folder, driver.module_version));
  }
  facts.has_firmware |= HasOwnFirmware(sight, driver.module_version);
  facts.is_cuda_in_cache = IsCudaInCache(root.driver);
  facts.has_fabric_manager = !engine::FindProgram(root.driver, "nv-fabricmanager").empty();
  return facts;
}

DeviceFacts ReadDeviceFacts(Sight& sight) {
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

ServiceFacts ReadServiceFacts(Sight& sight) {
  ServiceFacts facts;
  // The kernel keeps 15 characters of a name.
  facts.persistence = engine::FindDaemons(sight.host(), {"nvidia-persiste"});
  facts.fabric = engine::FindDaemons(sight.host(), {"nv-fabricmanage"});
  facts.has_rdma = !sight.Names("sys/class/infiniband").empty();
  return facts;
}

}  // namespace kgpu::doctor
