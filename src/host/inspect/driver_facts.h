// What the host reveals about NVIDIA's driver without its library: kernel modules,
// /proc/driver/nvidia, character majors, versions of the installed libraries. If the library does
// not answer, these facts explain why.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/host/inspect/driver_root.h"
#include "src/host/inspect/pci.h"
#include "src/platform/base/status.h"

namespace kgpu::host {

// One line of /proc/modules.
struct KernelModule {
  std::string name;
  bool is_live = true;  // false while it is loading or unloading
  bool operator==(const KernelModule&) const = default;
};
// Sorted by name; skips lines that are no module. Source: proc(5).
std::vector<KernelModule> ParseModules(std::string_view text);

// The NVRM line of /proc/driver/nvidia/version.
struct NvrmVersion {
  std::string version;          // "535.104.05"
  bool is_open_module = false;  // NVIDIA's open kernel module
  bool operator==(const NvrmVersion&) const = default;
};
// Errors: InvalidArgument (no NVRM line with a version).
StatusOr<NvrmVersion> ParseNvrmVersion(std::string_view text);

// Majors of character devices by name ("nvidia-uvm" → 509); the first one counts if a name repeats.
// Source: /proc/devices, proc(5).
std::map<std::string, unsigned> ParseCharMajors(std::string_view text);

// "DeviceFileMinor" of an access file below /proc/driver/nvidia/capabilities.
// Errors: InvalidArgument.
StatusOr<unsigned> ParseCapMinor(std::string_view text);

// True for "535.104.05": digits and dots, two to four groups.
bool IsDriverVersion(std::string_view text);

// Minors of the /dev/nvidia-caps/nvidia-cap<N> that give access to a GPU instance, or to one of its
// compute instances; nullopt if the driver lists none. `gpu_minor` is N of /dev/nvidia<N>. Source:
// /proc/driver/nvidia/capabilities/gpu<N>/mig/gi<G>[/ci<C>]/access.
std::optional<unsigned> GpuInstanceCapMinor(const sys::Root& host, unsigned gpu_minor,
                                            unsigned gpu_instance);
std::optional<unsigned> ComputeInstanceCapMinor(const sys::Root& host, unsigned gpu_minor,
                                                unsigned gpu_instance, unsigned compute_instance);

struct DriverFacts {
  // Where we looked for the user-space files, as the host calls it: people read it there.
  std::string driver_root;
  bool is_nvidia_loaded = false;
  bool is_nvidia_live = false;  // loaded, and neither loading nor unloading
  bool is_uvm_loaded = false;
  std::string rival;  // loaded module of another driver for these GPUs: see kRivals; empty: none
  std::string module_version;  // of the loaded kernel module; empty: not loaded or unreadable
  bool is_open_module = false;
  std::map<std::string, unsigned> nvidia_majors;  // of /proc/devices, names with "nvidia" only
  std::vector<std::string> library_versions;      // of libcuda and libnvidia-ml, sorted, unique
  // Of the module's version, else of the newest: file names of libraries that CUDA needs and that
  // are not there while others of that version are.
  std::vector<std::string> missing_libraries;
  std::string nvml_library;       // path below the driver root, links followed; empty: not found
  bool has_control_node = false;  // /dev/nvidiactl is a character device
  bool has_uvm_node = false;      // /dev/nvidia-uvm is one
  std::vector<std::string> problems;  // what could not be read, one sentence each
};

// Never fails: what cannot be read is in `problems`.
DriverFacts ReadDriverFacts(const DriverRoot& root);

// The things that CUDA programs lack where the driver answers, a sentence each with the fix: the
// node of the module for unified memory, libraries. Pure.
std::vector<std::string> CudaObstacles(const DriverFacts& facts);

// The answer of the driver's library, if it was asked.
enum class LibraryAnswer {
  kNotAsked,
  kDriverNotLoaded,  // NVML_ERROR_DRIVER_NOT_LOADED
  kNoPermission,     // NVML_ERROR_NO_PERMISSION
  kVersionMismatch,  // NVML_ERROR_LIB_RM_VERSION_MISMATCH
  kLibraryNotFound,  // dlopen failed, NVML_ERROR_LIBRARY_NOT_FOUND
  kOther,            // any other error
};

struct DriverVerdict {
  device::DriverState state = device::DriverState::kFailed;
  std::string reason;  // one or two sentences for people, with the fix
  bool operator==(const DriverVerdict&) const = default;
};

// Explains why the driver does not answer. Pure. `answer_text` is the library's text for kOther.
DriverVerdict ExplainDriver(const DriverFacts& facts, const std::vector<PciDevice>& pci,
                            LibraryAnswer answer, std::string_view answer_text = {});

// Why a GPU that PCI shows is not usable, with the fix: off the bus, bound to another driver, the
// driver's problem in `verdict`, what could not be read of the GPU, or a `module` that does not
// support it. Pure.
std::string ExplainUnmanagedGpu(const PciDevice& gpu, const DriverVerdict& verdict,
                                const NvrmVersion& module = {});
// The loaded module's version and kind, from /proc/driver/nvidia/version; empty: unknown.
NvrmVersion ReadLoadedModule(const sys::Root& host);

}  // namespace kgpu::host
