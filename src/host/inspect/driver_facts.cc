#include "src/host/inspect/driver_facts.h"

#include <sys/stat.h>

#include <algorithm>

#include <fmt/format.h>

#include "src/host/inspect/driver_files.h"
#include "src/host/inspect/module_fit.h"
#include "src/host/inspect/rivals.h"
#include "src/platform/base/strings.h"

namespace kgpu::host {
namespace {

using device::DriverState;

constexpr std::string_view kCapabilities = "proc/driver/nvidia/capabilities";

std::optional<unsigned> ReadCapMinor(const sys::Root& host, const std::string& folder) {
  const StatusOr<std::string> text =
      host.ReadFile(fmt::format("{}/{}/access", kCapabilities, folder));
  if (!text.ok()) {
    return std::nullopt;
  }
  const StatusOr<unsigned> minor = ParseCapMinor(*text);
  return minor.ok() ? std::optional<unsigned>(*minor) : std::nullopt;
}

void Note(DriverFacts& facts, const Status& status) {
  facts.problems.emplace_back(Message(status));
}

void ReadModules(const sys::Root& host, DriverFacts& facts) {
  const StatusOr<std::string> text = host.ReadFile("proc/modules");
  if (!text.ok()) {
    Note(facts, text.status());
    return;
  }
  for (const KernelModule& module : ParseModules(*text)) {
    if (module.name == "nvidia") {
      facts.is_nvidia_loaded = true;
      facts.is_nvidia_live = module.is_live;
    } else if (module.name == "nvidia_uvm") {
      facts.is_uvm_loaded = true;
    } else if (std::ranges::find(kRivals, module.name, &Rival::module) != kRivals.end()) {
      facts.rival = module.name;
    }
  }
}

// Two sources, since /proc/driver is not mounted in every container. A file that is not there is
// no trouble: the module is not loaded then.
void ReadModuleVersion(const sys::Root& host, DriverFacts& facts) {
  const StatusOr<std::string> proc = host.ReadFile("proc/driver/nvidia/version");
  if (proc.ok()) {
    const StatusOr<NvrmVersion> version = ParseNvrmVersion(*proc);
    if (version.ok()) {
      facts.module_version = version->version;
      facts.is_open_module = version->is_open_module;
    } else {
      Note(facts, Annotate(version.status(), "{}", host.At("proc/driver/nvidia/version")));
    }
  } else if (proc.status().code() != StatusCode::kNotFound) {
    Note(facts, proc.status());
  }
  if (facts.module_version.empty()) {
    const StatusOr<std::string> sysfs = host.ReadFile("sys/module/nvidia/version");
    if (sysfs.ok() && IsDriverVersion(Trim(*sysfs))) {
      facts.module_version = std::string(Trim(*sysfs));
    }
  }
  // /proc/modules may be hidden while the driver's own files show.
  if (!facts.module_version.empty() && !facts.is_nvidia_loaded) {
    facts.is_nvidia_loaded = true;
    facts.is_nvidia_live = true;
  }
}

bool IsCharDevice(const sys::Root& host, std::string_view path) {
  const StatusOr<struct stat> info = host.LinkStat(path);
  return info.ok() && S_ISCHR(info->st_mode);
}

bool Contains(const std::vector<std::string>& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

std::string Problems(const DriverFacts& facts) {
  return facts.problems.empty() ? std::string()
                                : fmt::format(" Not readable: {}.", Join(facts.problems, "; "));
}

DriverVerdict Mismatch(const DriverFacts& facts) {
  return {DriverState::kVersionMismatch,
          fmt::format("The loaded kernel module has version {}, the libraries below {} have {}: "
                      "restart the host, or stop all GPU programs and reload the module (modprobe "
                      "-r nvidia_uvm nvidia && modprobe nvidia).",
                      facts.module_version.empty() ? "unknown" : facts.module_version,
                      facts.driver_root,
                      facts.library_versions.empty() ? "an unknown version"
                                                     : Join(facts.library_versions, ", "))};
}

// One fix for all of them, whichever is loaded now: the kernel would load the other one instead.
std::string RivalText(std::string_view start) {
  return fmt::format(
      "{}: write \"blacklist nouveau\", \"blacklist nova_core\" and \"blacklist nova_drm\" to "
      "/etc/modprobe.d/, rebuild the initramfs and restart the host.",
      start);
}

DriverVerdict ExplainNotLoaded(const DriverFacts& facts, const std::vector<PciDevice>& pci) {
  const bool has_gpus = std::ranges::any_of(pci, &PciDevice::is_gpu);
  if (const std::string rival = RivalInTheWay(facts.rival, false, pci); !rival.empty()) {
    return {DriverState::kNouveau,
            RivalText(fmt::format("The kernel module {} uses the GPUs", rival))};
  }
  if (!facts.library_versions.empty()) {
    return {DriverState::kNotLoaded,
            fmt::format("Driver {} is installed below {}, but its kernel module is not loaded: run "
                        "modprobe nvidia, and read dmesg if it fails.{}",
                        Join(facts.library_versions, ", "), facts.driver_root, Problems(facts))};
  }
  if (!facts.problems.empty()) {
    return {DriverState::kFailed,
            fmt::format("Cannot determine whether the driver is loaded: mount the host's /proc and "
                        "/sys below --host-root.{}",
                        Problems(facts))};
  }
  return {DriverState::kMissing,
          has_gpus
              ? fmt::format("No NVIDIA kernel module is loaded and no driver libraries are below "
                            "{}: install the driver, or set its path with --driver-root.",
                            facts.driver_root)
              : std::string("This host has no NVIDIA GPU on its PCI bus and no driver.")};
}

DriverVerdict ExplainSilentDriver(const DriverFacts& facts, LibraryAnswer answer,
                                  std::string_view answer_text) {
  if (!facts.is_nvidia_live) {
    return {DriverState::kNotLoaded,
            "The kernel module nvidia is being loaded or unloaded: wait, and read dmesg if it "
            "stays so."};
  }
  if (!facts.has_control_node) {
    return {DriverState::kNotLoaded,
            "The kernel module is loaded, but /dev/nvidiactl does not exist: run nvidia-modprobe "
            "-c 255, or mount the host's /dev below --host-root."};
  }
  if (answer == LibraryAnswer::kDriverNotLoaded) {
    return {DriverState::kNotLoaded,
            "The driver's library reports that the driver is not loaded, but /proc/modules lists "
            "it: read dmesg for NVRM lines, then reload the module."};
  }
  return {
      DriverState::kFailed,
      answer_text.empty()
          ? fmt::format(
                "The driver is loaded but does not answer: read dmesg for NVRM and Xid lines.{}",
                Problems(facts))
          : fmt::format(
                "The driver's library returned \"{}\": read dmesg for NVRM and Xid lines.{}",
                Printable(answer_text), Problems(facts))};
}

}  // namespace

std::vector<KernelModule> ParseModules(std::string_view text) {
  // "nvidia 56807424 2 nvidia_uvm,nvidia_modeset, Live 0x0000000000000000 (POE)"
  std::vector<KernelModule> modules;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() < 5 || !ParseUint(words[1])) {
      continue;
    }
    modules.push_back({std::string(words[0]), words[4] == "Live"});
  }
  std::ranges::sort(modules, {}, &KernelModule::name);
  return modules;
}

bool IsDriverVersion(std::string_view text) {
  if (text.size() > 32) {
    return false;
  }
  const std::vector<std::string_view> groups = Split(text, '.');
  if (groups.size() < 2 || groups.size() > 4) {
    return false;
  }
  return std::ranges::all_of(groups, [](std::string_view group) {
    return !group.empty() &&
           std::ranges::all_of(group, [](char c) { return c >= '0' && c <= '9'; });
  });
}

StatusOr<NvrmVersion> ParseNvrmVersion(std::string_view text) {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023"
  // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.104.05  Release Build  (…)"
  for (const std::string_view line : Split(text, '\n')) {
    if (!line.starts_with("NVRM version:")) {
      continue;
    }
    for (const std::string_view word : Words(line)) {
      if (IsDriverVersion(word)) {
        return NvrmVersion{std::string(word), line.find("Open Kernel Module") != line.npos};
      }
    }
    return InvalidArgument("line \"{}\" has no version", Printable(line, 120));
  }
  return InvalidArgument("no line begins with \"NVRM version:\"");
}

std::map<std::string, unsigned> ParseCharMajors(std::string_view text) {
  std::map<std::string, unsigned> majors;
  bool is_character = false;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() != 2) {
      continue;
    }
    if (words[1] == "devices:") {
      is_character = words[0] == "Character";
      continue;
    }
    const std::optional<uint64_t> major = ParseUint(words[0]);
    if (is_character && major && *major <= 0xfffff) {
      majors.emplace(std::string(words[1]), static_cast<unsigned>(*major));
    }
  }
  return majors;
}

StatusOr<unsigned> ParseCapMinor(std::string_view text) {
  // "DeviceFileMinor: 3\nDeviceFileMode: 256\nDeviceFileModify: 1"
  constexpr uint64_t kMaxMinor = 0xfffff;
  for (const std::string_view line : Split(text, '\n')) {
    constexpr std::string_view kField = "DeviceFileMinor:";
    if (!line.starts_with(kField)) {
      continue;
    }
    const std::optional<uint64_t> minor = ParseUint(Trim(line.substr(kField.size())));
    if (!minor || *minor > kMaxMinor) {
      return InvalidArgument("DeviceFileMinor: \"{}\" is not a minor number",
                             Printable(Trim(line.substr(kField.size())), 20));
    }
    return static_cast<unsigned>(*minor);
  }
  return InvalidArgument("no line begins with \"DeviceFileMinor:\"");
}

std::optional<unsigned> GpuInstanceCapMinor(const sys::Root& host, unsigned gpu_minor,
                                            unsigned gpu_instance) {
  return ReadCapMinor(host, fmt::format("gpu{}/mig/gi{}", gpu_minor, gpu_instance));
}

std::optional<unsigned> ComputeInstanceCapMinor(const sys::Root& host, unsigned gpu_minor,
                                                unsigned gpu_instance, unsigned compute_instance) {
  return ReadCapMinor(
      host, fmt::format("gpu{}/mig/gi{}/ci{}", gpu_minor, gpu_instance, compute_instance));
}

std::vector<std::string> CudaObstacles(const DriverFacts& facts) {
  std::vector<std::string> obstacles;
  if (facts.is_nvidia_live && facts.has_control_node && !facts.has_uvm_node) {
    obstacles.emplace_back(
        "/dev/nvidia-uvm does not exist, without which no container can use CUDA: run "
        "nvidia-modprobe -u -c=0");
  }
  if (facts.is_nvidia_live && !facts.missing_libraries.empty()) {
    obstacles.push_back(
        fmt::format("{} not found below {}, which CUDA needs: kgpu doctor shows the fix",
                    Join(facts.missing_libraries, " and "), facts.driver_root));
  }
  return obstacles;
}

DriverFacts ReadDriverFacts(const DriverRoot& root) {
  DriverFacts facts;
  facts.driver_root = root.EnginePath(root.driver, "");
  ReadModules(root.host, facts);
  ReadModuleVersion(root.host, facts);
  if (const StatusOr<std::string> text = root.host.ReadFile("proc/devices"); text.ok()) {
    for (const auto& [name, major] : ParseCharMajors(*text)) {
      if (name.find("nvidia") != std::string::npos) {
        facts.nvidia_majors.emplace(name, major);
      }
    }
  } else {
    Note(facts, text.status());
  }
  facts.library_versions = FindDriverVersions(root.driver);
  if (!facts.library_versions.empty()) {
    const bool has_modules = Contains(facts.library_versions, facts.module_version);
    facts.missing_libraries = MissingLibraries(
        root.driver, has_modules ? facts.module_version : facts.library_versions.back());
  }
  if (StatusOr<std::string> library = FindNvmlLibrary(root.driver); library.ok()) {
    facts.nvml_library = *std::move(library);
  }
  facts.has_control_node = IsCharDevice(root.host, "dev/nvidiactl");
  facts.has_uvm_node = IsCharDevice(root.host, "dev/nvidia-uvm");
  return facts;
}

DriverVerdict ExplainDriver(const DriverFacts& facts, const std::vector<PciDevice>& pci,
                            LibraryAnswer answer, std::string_view answer_text) {
  if (answer == LibraryAnswer::kNoPermission) {
    return {DriverState::kNoPermission,
            "The device nodes /dev/nvidia* cannot be opened: run as root, or, in a container, "
            "add them to its devices."};
  }
  if (!facts.is_nvidia_loaded) {
    return ExplainNotLoaded(facts, pci);
  }
  if (facts.nvml_library.empty() || answer == LibraryAnswer::kLibraryNotFound) {
    return {DriverState::kNoLibrary,
            fmt::format(
                "Kernel module {} is loaded, but libnvidia-ml.so.1 is not below {}: install the "
                "driver's user-space files of that version, or set their path with --driver-root.",
                facts.module_version, facts.driver_root)};
  }
  const bool is_known_mismatch = !facts.module_version.empty() && !facts.library_versions.empty() &&
                                 !Contains(facts.library_versions, facts.module_version);
  if (answer == LibraryAnswer::kVersionMismatch || is_known_mismatch) {
    return Mismatch(facts);
  }
  return ExplainSilentDriver(facts, answer, answer_text);
}

NvrmVersion ReadLoadedModule(const sys::Root& host) {
  const StatusOr<std::string> text = host.ReadFile("proc/driver/nvidia/version");
  return text.ok() ? ParseNvrmVersion(*text).value_or(NvrmVersion()) : NvrmVersion();
}

std::string ExplainUnmanagedGpu(const PciDevice& gpu, const DriverVerdict& verdict,
                                const NvrmVersion& module) {
  if (gpu.is_off_bus) {
    return gpu.problem;
  }
  if (IsForGuests(gpu.kernel_driver)) {
    return fmt::format("Bound to {} for a virtual machine: unbind it to use it in containers.",
                       gpu.kernel_driver);
  }
  if (FindRival(gpu.kernel_driver) != nullptr) {
    return RivalText(fmt::format("Bound to {}", ModuleOfDriver(gpu)));
  }
  if (!gpu.kernel_driver.empty() && gpu.kernel_driver != "nvidia") {
    return fmt::format(
        "Bound to the kernel driver {}: unbind it, write \"blacklist {}\" to /etc/modprobe.d/ "
        "and restart the host.",
        gpu.kernel_driver, ModuleOfDriver(gpu));
  }
  if (!verdict.reason.empty()) {
    return verdict.reason;
  }
  if (!gpu.problem.empty()) {
    return gpu.problem;
  }
  if (const Misfit misfit = MisfitOf(gpu.device_id, module)) {
    return fmt::format("The driver does not support this GPU: {}: {}.", misfit.cause, misfit.fix);
  }
  if (gpu.kernel_driver.empty()) {
    return "No kernel driver is bound: read dmesg for NVRM lines of this address; the driver may "
           "be too old for this GPU.";
  }
  return "The driver does not report this GPU: read dmesg for NVRM and Xid lines of this address.";
}

}  // namespace kgpu::host
