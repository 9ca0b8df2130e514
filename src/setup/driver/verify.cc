#include "src/setup/driver/verify.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/gpu/cuda/compatibility.h"
#include "src/host/facts/facts.h"
#include "src/host/facts/package_files.h"
#include "src/host/inspect/device_nodes.h"
#include "src/host/inspect/driver_facts.h"
#include "src/host/inspect/driver_files.h"
#include "src/host/inspect/installed_kernels.h"
#include "src/host/inspect/ldcache.h"
#include "src/host/inspect/module_fit.h"
#include "src/host/inspect/rivals.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/find_program.h"
#include "src/setup/driver/module_facts.h"

namespace kgpu::driver {
namespace {

constexpr std::chrono::seconds kDeadline{60};

// The request with its kernel filled in, and what was found so far.
struct Look {
  Verify request;
  const Demands& demands;
  bool is_running = false;  // that kernel runs this host
  std::string version;      // of the module, once found
  std::string module;       // its name, once found: "nvidia-current"
  const host::DriverRoot& root;
  sys::ProgramRunner& runner;
  Verified seen;
};

template <typename... Args>
void Pass(Look& look, fmt::format_string<Args...> format, Args&&... args) {
  look.seen.passed.push_back(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void Fail(Look& look, fmt::format_string<Args...> format, Args&&... args) {
  look.seen.failed.push_back(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void Warn(Look& look, fmt::format_string<Args...> format, Args&&... args) {
  look.seen.warned.push_back(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void Miss(Look& look, fmt::format_string<Args...> format, Args&&... args) {
  look.seen.skipped.push_back(fmt::format(format, std::forward<Args>(args)...));
}

StatusOr<sys::RunResult> Ask(const Look& look, std::vector<std::string> argv) {
  return look.runner.Run(sys::RequestOf(look.root.driver, std::move(argv), kDeadline));
}

bool IsOfVersion(std::string_view version, std::string_view wanted) {
  return wanted.empty() || IsVersion(version, wanted);
}

// nvidia's module under any of the names that packages use; nothing: there is none.
StatusOr<std::optional<ModuleInfo>> FindModule(Look& look, const std::string& modinfo) {
  for (const char* name : {"nvidia", "nvidia-current", "nvidia-current-open", "nvidia-tesla-470"}) {
    const StatusOr<sys::RunResult> result = Ask(look, {modinfo, "-k", look.request.kernel, name});
    if (!result.ok()) {
      return result.status();
    }
    if (result->IsSuccess()) {
      look.module = name;
      return std::optional<ModuleInfo>(ParseModinfo(result->out));
    }
  }
  return std::optional<ModuleInfo>();
}

// DKMS believes its own notes: it installs a module again only after it has uninstalled it.
std::string InstallAgain(std::string_view module, std::string_view version,
                         std::string_view kernel) {
  return fmt::format("dkms uninstall {0}/{1} -k {2} && dkms install {0}/{1} -k {2}", module,
                     version, kernel);
}

// CUDA does not start without it.
void LookAtUvm(Look& look, const std::string& modinfo) {
  const std::string name = look.module + "-uvm";
  const StatusOr<sys::RunResult> result = Ask(look, {modinfo, "-k", look.request.kernel, name});
  if (!result.ok()) {
    Miss(look, "the module {}: {}", name, Message(result.status()));
  } else if (!result->IsSuccess()) {
    const bool is_of_dkms =
        look.root.driver.Exists(fmt::format("var/lib/dkms/{}/{}", look.module, look.version));
    Fail(look, "module {} is missing for kernel {}, but CUDA needs it: {}", name,
         look.request.kernel,
         is_of_dkms ? InstallAgain(look.module, look.version, look.request.kernel)
                    : "reinstall the packages of the driver's modules");
  }
}

// The open modules say "Dual MIT/GPL" of themselves, the proprietary ones "NVIDIA".
ModuleKind KindOf(const ModuleInfo& module) {
  return module.license.find("GPL") == std::string::npos ? ModuleKind::kProprietary
                                                         : ModuleKind::kOpen;
}

void LookAtModule(Look& look) {
  const std::string modinfo = sys::FindProgram(look.root.driver, "modinfo");
  if (modinfo.empty()) {
    Miss(look, "the module for kernel {}: modinfo not found", look.request.kernel);
    return;
  }
  const StatusOr<std::optional<ModuleInfo>> found = FindModule(look, modinfo);
  if (!found.ok()) {
    Miss(look, "the module for kernel {}: {}", look.request.kernel, Message(found.status()));
    return;
  }
  const std::optional<ModuleInfo>& module = *found;
  if (!module) {
    Fail(look,
         "module nvidia is missing for kernel {}: run dkms status to see whether it was built",
         look.request.kernel);
    return;
  }
  look.version = module->version;
  if (module->kernel() != look.request.kernel) {
    Fail(look, "{} is built for kernel {}, not for {}", module->path, module->kernel(),
         look.request.kernel);
  } else if (!IsOfVersion(module->version, look.request.version)) {
    Fail(look, "{} has version {}, not {}", module->path, module->version, look.request.version);
  } else if (look.demands.kind && *look.demands.kind != KindOf(*module)) {
    Fail(look, "{} belongs to the {} modules, not the {} ones", module->path,
         ToString(KindOf(*module)), ToString(*look.demands.kind));
  } else {
    Pass(look, "module {} for kernel {}: {}", module->version, look.request.kernel, module->path);
    LookAtUvm(look, modinfo);
  }
}

// Only where DKMS has sources of the driver: modules of a package need none.
void LookAtDkms(Look& look) {
  const std::string dkms = sys::FindProgram(look.root.driver, "dkms");
  if (dkms.empty()) {
    return;
  }
  const StatusOr<sys::RunResult> result = Ask(look, {dkms, "status"});
  if (!result.ok() || !result->IsSuccess()) {
    Miss(look, "DKMS status: {}", result.ok() ? sys::Describe(*result) : Message(result.status()));
    return;
  }
  bool has_sources = false;
  for (const DkmsEntry& entry : ParseDkmsStatus(result->out)) {
    const bool is_driver = entry.module.starts_with("nvidia") &&
                           !entry.module.starts_with("nvidia-fs") &&
                           IsOfVersion(entry.version, look.request.version);
    has_sources |= is_driver;
    if (!is_driver || entry.kernel != look.request.kernel) {
      continue;
    }
    if (entry.state.starts_with("installed") && !entry.warning.empty()) {
      // Modules that were signed after the build differ, too.
      Warn(look, "DKMS has installed {} {} for kernel {} but warns: {}: unless you signed them: {}",
           entry.module, entry.version, entry.kernel, entry.warning,
           InstallAgain(entry.module, entry.version, entry.kernel));
    } else if (entry.state.starts_with("installed")) {
      Pass(look, "DKMS has installed {} {} for kernel {}", entry.module, entry.version,
           entry.kernel);
    } else {
      Fail(look, "DKMS has {} {} for kernel {} as {}: dkms install {}/{} -k {}", entry.module,
           entry.version, entry.kernel, entry.state, entry.module, entry.version, entry.kernel);
    }
    return;
  }
  if (has_sources) {
    Fail(look, "DKMS built nothing for kernel {}: dkms autoinstall -k {}", look.request.kernel,
         look.request.kernel);
  }
}

void LookAtPackageFiles(Look& look) {
  host::PackageFiles files = host::CheckPackageFiles(look.root.driver, look.runner);
  if (files.packages > 0 && files.failed.empty()) {
    Pass(look, "all files of the driver's {} packages", files.packages);
  }
  std::ranges::move(files.failed, std::back_inserter(look.seen.failed));
  std::ranges::move(files.skipped, std::back_inserter(look.seen.skipped));
}

// Gives whether all are there that the linker is to find.
bool LookAtLibraries(Look& look) {
  const std::vector<std::string> versions = host::FindDriverVersions(look.root.driver);
  if (versions.empty()) {
    Fail(look, "no libcuda and no libnvidia-ml below {}", look.root.driver.path());
  } else if (versions.size() > 1) {
    Fail(look, "libraries of several versions: {}", Join(versions, ", "));
  } else if (!look.version.empty() && versions.front() != look.version) {
    Fail(look, "the libraries are {}, the module is {}", versions.front(), look.version);
  } else if (!IsOfVersion(versions.front(), look.request.version)) {
    Fail(look, "the libraries are {}, not {}", versions.front(), look.request.version);
  } else {
    Pass(look, "libraries {}", versions.front());
  }
  const std::vector<std::string> missing =
      versions.size() == 1 ? host::MissingLibraries(look.root.driver, versions.front())
                           : std::vector<std::string>();
  if (!missing.empty()) {
    Fail(look,
         "{} not found, but other libraries of the driver are there: reinstall its user space",
         Join(missing, " and "));
  }
  return !versions.empty() && missing.empty();
}

void LookAtCuda(Look& look) {
  if (!look.demands.cuda) {
    return;
  }
  const std::string cuda = look.demands.cuda->str();
  const auto least = cuda::LeastDriver(*look.demands.cuda);
  std::string version = look.version;
  if (const auto versions = host::FindDriverVersions(look.root.driver);
      version.empty() && !versions.empty()) {
    version = versions.back();
  }
  const auto parsed = cuda::DriverVersion::Parse(version);
  if (!least) {
    Fail(look, "CUDA {} is newer than the latest version known to kgpu, {}", cuda,
         cuda::Toolkits().front().cuda.str());
  } else if (!parsed.ok()) {
    Fail(look, "CUDA {} needs driver {} or newer, but none is installed", cuda, least->str());
  } else if (*parsed < *least) {
    Fail(look, "CUDA {} needs driver {} or newer, but {} is installed", cuda, least->str(),
         version);
  } else {
    Pass(look, "driver {} fully supports CUDA {}", version, cuda);
  }
}

void LookAtLinker(Look& look) {
  const sys::Root& driver = look.root.driver;
  const StatusOr<std::string> bytes = driver.ReadFile("etc/ld.so.cache", host::kLdCacheLimit);
  if (!bytes.ok()) {
    Miss(look, "the dynamic linker's cache: {}", Message(bytes.status()));
    return;
  }
  const auto entries = host::ParseLdCache(*bytes);
  if (!entries.ok()) {
    Miss(look, "the dynamic linker's cache: {}: {}", driver.At("etc/ld.so.cache"),
         Message(entries.status()));
    return;
  }
  std::vector<std::string> missing;
  for (const std::string_view name : {"libcuda.so.1", "libnvidia-ml.so.1"}) {
    const auto is_there = [name, &driver](const host::LdCacheEntry& entry) {
      return entry.name == name && driver.Exists(entry.path);
    };
    if (std::ranges::none_of(*entries, is_there)) {
      missing.emplace_back(name);
    }
  }
  if (missing.empty()) {
    Pass(look, "the dynamic linker finds libcuda.so.1 and libnvidia-ml.so.1");
  } else {
    Fail(look, "the dynamic linker does not find {}: ldconfig", Join(missing, " and "));
  }
}

void LookAtLoaded(const host::DriverFacts& facts, Look& look) {
  if (!facts.is_nvidia_live) {
    Fail(look, "nvidia is not loaded: run modprobe nvidia; dmesg shows why it fails");
  } else if (facts.module_version.empty()) {
    Fail(look, "nvidia is loaded but reports no version: see dmesg");
  } else if (!look.version.empty() && facts.module_version != look.version) {
    Fail(look,
         "the loaded module has version {}, the installed one {}: unload it, or restart the host",
         facts.module_version, look.version);
  } else if (!IsOfVersion(facts.module_version, look.request.version)) {
    Fail(look, "the loaded module has version {}, not {}", facts.module_version,
         look.request.version);
  } else {
    Pass(look, "module {} is loaded", facts.module_version);
  }
}

// One GPU of the bus: held by NVIDIA's driver, or by none that it should not have.
void LookAtGpu(const host::DriverFacts& facts, const host::PciDevice& gpu, Look& look) {
  const std::string at = gpu.id.str();
  const host::Misfit misfit = host::MisfitOf(
      gpu.device_id, {.version = facts.module_version, .is_open_module = facts.is_open_module});
  if (gpu.is_off_bus) {
    Fail(look, "{}: {}", at, gpu.problem);
  } else if (gpu.kernel_driver.empty() && facts.is_nvidia_live) {
    Fail(look, "{}: no kernel driver has bound this GPU: {}", at,
         misfit ? fmt::format("{}: {}", misfit.cause, misfit.fix)
                : "dmesg shows why in its NVRM lines");
  } else if (!gpu.kernel_driver.empty() && gpu.kernel_driver != "nvidia") {
    Fail(look, "{}: bound to the kernel driver {}: {}", at, gpu.kernel_driver,
         host::FindRival(gpu.kernel_driver) != nullptr
             ? "restart the host"
             : fmt::format("unbind it, and keep {} from loading", host::ModuleOfDriver(gpu)));
  }
}

void LookAtBus(const host::Facts& facts, Look& look) {
  for (const host::GpuFacts& gpu : facts.pci.gpus) {
    if (!gpu.is_for_guests) {
      LookAtGpu(facts.driver, gpu.pci, look);
    }
  }
  const std::string rival = facts.RivalInTheWay();
  if (rival.empty()) {
    Pass(look, "neither nouveau nor nova is loaded");
  } else {
    Fail(look,
         "{} is loaded and uses the GPUs: write \"blacklist {}\" to /etc/modprobe.d, rebuild "
         "the initial RAM disk, restart the host",
         rival, rival);
  }
}

// The driver of this kernel may be well, and gone with the next start.
void LookAtNextKernel(Look& look) {
  const std::vector<host::InstalledKernel> kernels = host::ReadInstalledKernels(look.root.host);
  const host::InstalledKernel* next = host::NextWithoutDriver(kernels, look.request.kernel);
  if (next == nullptr) {
    return;
  }
  const bool is_by_kgpu = look.root.host.Exists(host::kDriverJournal);
  const std::string fix =
      is_by_kgpu
          ? fmt::format("kgpu driver install --kernel {}", next->release)
          : fmt::format("{}dkms autoinstall -k {}",
                        next->has_headers ? "" : "install its headers, then ", next->release);
  Warn(look,
       "kernel {} is installed, newer than {}, and has no module nvidia: the next boot loses the "
       "driver: {}",
       next->release, look.request.kernel, fix);
}

// Made for a module that was loaded before, it may lead to another driver's devices now.
void LookAtMajor(const host::DriverFacts& facts, const host::DeviceFile& node, Look& look) {
  const auto major = facts.nvidia_majors.find("nvidia-uvm");
  if (major != facts.nvidia_majors.end() && major->second != node.major) {
    Fail(look, "{} has major {}, the module {}: nvidia-modprobe -u -c 0", node.path, node.major,
         major->second);
  }
}

void LookAtNodes(const host::DriverFacts& facts, Look& look) {
  const StatusOr<host::DeviceNodes> nodes = host::ReadDeviceNodes(look.root.host);
  if (!nodes.ok()) {
    Miss(look, "device nodes: {}", Message(nodes.status()));
    return;
  }
  std::vector<std::string> missing;
  if (!nodes->control) {
    missing.emplace_back("/dev/nvidiactl");
  }
  if (!nodes->uvm) {
    missing.emplace_back("/dev/nvidia-uvm");
  }
  if (nodes->gpus.empty()) {
    missing.emplace_back("/dev/nvidia0");
  }
  if (const auto& uvm = nodes->uvm; uvm.has_value()) {
    LookAtMajor(facts, *uvm, look);
  }
  if (missing.empty()) {
    Pass(look, "device nodes of {} GPUs", nodes->gpus.size());
  } else {
    Fail(look, "{} not found: nvidia-modprobe -c 255 -c 0 && nvidia-modprobe -u -c 0",
         Join(missing, ", "));
  }
}

}  // namespace

Verified VerifyDriver(const Verify& request, const Demands& demands, const host::DriverRoot& root,
                      sys::ProgramRunner& runner) {
  Look look{.request = request,
            .demands = demands,
            .version = "",
            .module = "",
            .root = root,
            .runner = runner,
            .seen = {}};
  const std::string running = host::RunningKernel(root.host);
  if (look.request.kernel.empty()) {
    look.request.kernel = running;
  }
  look.is_running = !running.empty() && running == look.request.kernel;
  if (look.request.kernel.empty()) {
    Miss(look, "the module: no kernel runs below {}, and none was given", root.host.path());
  } else {
    LookAtModule(look);
    LookAtDkms(look);
  }
  LookAtPackageFiles(look);
  const bool has_libraries = LookAtLibraries(look);
  LookAtCuda(look);
  if (has_libraries) {  // else nothing that the linker could do would fix it
    LookAtLinker(look);
  }
  if (!look.is_running) {
    Miss(look, "loaded modules and device nodes: kernel {} does not run here", look.request.kernel);
    return std::move(look.seen);
  }
  LookAtNextKernel(look);
  const host::Facts facts = host::GatherFacts(root, runner);
  LookAtLoaded(facts.driver, look);
  LookAtBus(facts, look);
  LookAtNodes(facts.driver, look);
  return std::move(look.seen);
}

}  // namespace kgpu::driver
