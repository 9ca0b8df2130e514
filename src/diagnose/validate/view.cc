#include "src/diagnose/validate/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "src/diagnose/validate/protocol.h"
#include "src/gpu/cuda_abi/abi.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::validate {
namespace {

namespace json = boost::json;

bool HasBegun(const Report& report, std::string_view phase) {
  return std::ranges::find(report.phases, phase, &Phase::name) != report.phases.end();
}

void AddSpeed(std::string& text, std::string_view what, const std::optional<double>& speed) {
  if (speed) {
    text += fmt::format("{:<26}{:8.1f} GB/s\n", what, *speed / 1e9);
  }
}

std::string Device(const Report& report) {
  return report.name.empty() ? ""
                             : fmt::format("{} ({}), compute capability {}, CUDA {}\n", report.name,
                                           report.uuid.empty() ? "no UUID" : report.uuid,
                                           report.compute_capability, report.cuda);
}

json::value OrNull(const std::optional<double>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

json::object JsonOf(const Report& report) {
  json::array phases;
  for (const Phase& phase : report.phases) {
    phases.push_back(
        {{"name", phase.name}, {"milliseconds", static_cast<double>(phase.took.count()) / 1e6}});
  }
  return {{"name", report.name},
          {"uuid", report.uuid},
          {"computeCapability", report.compute_capability},
          {"cuda", report.cuda},
          {"outcome", doc::View(ToString(report.outcome))},
          {"reason", report.reason},
          {"advice", Advice(report)},
          {"error", report.error},
          {"vectorSumRight", report.is_vector_sum_right},
          {"hostMemory", report.host_memory},
          {"bytesPerSecond",
           {{"hostToDevice", OrNull(report.host_to_device)},
            {"deviceToHost", OrNull(report.device_to_host)},
            {"withinDevice", OrNull(report.within_device)}}},
          {"burnFlops", OrNull(report.burn_flops)},
          {"phases", std::move(phases)}};
}

std::string AdviceForError(int error) {
  switch (error) {
    case kNoLibrary:
      return "The library could not be loaded: install the driver's libcuda for this machine, or "
             "set --cuda-library.";
    case kNoHostMemory:
      return "This machine or container has too little memory for the test: raise the limit (1 GiB "
             "is enough), or stop programs that use the memory.";
    case kWrongResult:
      return "The GPU computes wrong results: take it out of service (kgpu health shows its ECC "
             "errors and row remaps) and have it replaced.";
    case cuda_api::kNoDevice:
      return "CUDA finds no GPU: run kgpu devices; in a container, check that a GPU was assigned. "
             "A GPU in MIG mode without MIG devices does not count.";
    case cuda_api::kEccUncorrectable:
      return "Uncorrectable memory error: reset the GPU (nvidia-smi --gpu-reset) and run kgpu "
             "health.";
    case cuda_api::kStubLibrary:
      return "This libcuda is the toolkit's stub for linking: remove its folder (stubs) from the "
             "library path, or set the driver's file with --cuda-library.";
    case cuda_api::kJitCompilerNotFound:
      return "The driver's compiler is missing: install libnvidia-ptxjitcompiler in the driver's "
             "version; in a container, NVIDIA_DRIVER_CAPABILITIES must include \"compute\".";
    case cuda_api::kUnsupportedPtxVersion:
      return "The driver is older than the kernel's PTX, 6.0 (CUDA 9.0, driver 384): update the "
             "driver.";
    case cuda_api::kInvalidPtx:
      return "The driver's compiler rejected valid code: check that libnvidia-ptxjitcompiler has "
             "the driver's version (kgpu doctor).";
    case cuda_api::kJitCompilationDisabled:
      return "The driver's compiler is disabled (CUDA_DISABLE_PTX_JIT): unset the variable, or use "
             "another container.";
    case cuda_api::kCompatNotSupported:
      return "This libcuda is from cuda-compat, which runs only on data center GPUs: remove its "
             "folder (compat) from the library path to use the driver's own, or update the driver.";
    case cuda_api::kOutOfMemory:
      return "The GPU's memory is in use: stop the programs that use it (kgpu devices, "
             "nvidia-smi).";
    case cuda_api::kDeviceUnavailable:
      return "Another process uses the GPU exclusively: stop it, or check the compute mode "
             "(nvidia-smi -q -d COMPUTE).";
    case cuda_api::kSystemNotReady:
      return "The GPUs' fabric is not ready: start the fabric manager (systemctl enable --now "
             "nvidia-fabricmanager) in the driver's version.";
    case cuda_api::kDriverMismatch:
      return "libcuda and the loaded kernel module have different versions: load the new module, "
             "or reboot.";
    case cuda_api::kUnknown:
      return "Often /dev/nvidia-uvm is missing (modprobe nvidia-uvm; nvidia-modprobe -u -c 0), or "
             "the GPU fell off the bus: run kgpu devices and read the kernel's log.";
    default:
      return "Run kgpu health and read the kernel's log (dmesg | grep NVRM).";
  }
}

}  // namespace

std::string Advice(const Report& report) {
  switch (report.outcome) {
    case Outcome::kPassed:
    case Outcome::kAbsent:
      return "";
    case Outcome::kFailed:
      return AdviceForError(report.error);
    case Outcome::kHung:
    case Outcome::kCrashed:
      break;
  }
  return "Read the kernel's log (dmesg | grep -e NVRM -e Xid) and run kgpu health; a GPU that does "
         "not respond needs a reset or a reboot.";
}

std::string Text(const Report& report) {
  if (report.outcome == Outcome::kAbsent) {
    return fmt::format("{}\nTest FAILED: {}\n", report.name, report.reason);
  }
  std::string text = Device(report);
  text += fmt::format("[Vector addition of {} elements]\n", kElements);
  if (HasBegun(report, "copy-in")) {
    text += "Copy input data from the host memory to the CUDA device\n";
  }
  if (HasBegun(report, "kernel")) {
    text += fmt::format("CUDA kernel launch with {} blocks of {} threads\n", kBlocks, kThreads);
  }
  if (HasBegun(report, "copy-out")) {
    text += "Copy output data from the CUDA device to the host memory\n";
  }
  // Scripts wait for "Test PASSED": it is said of a GPU that passed everything it was asked.
  if (report.outcome == Outcome::kPassed) {
    text += "Test PASSED\nDone\n";
  } else if (report.is_vector_sum_right) {
    text += "All sums are correct\n";
  }
  AddSpeed(text, "Copy host to device", report.host_to_device);
  AddSpeed(text, "Copy device to host", report.device_to_host);
  AddSpeed(text, "Copy within the device", report.within_device);
  if (report.burn_flops) {
    text += fmt::format("{:<26}{:8.2f} TFLOP/s, all results correct\n", "Burn, single precision",
                        *report.burn_flops / 1e12);
  }
  if (report.outcome != Outcome::kPassed) {
    text += fmt::format("Test FAILED: {}\n{}\n", report.reason, Advice(report));
  }
  return text;
}

json::value Json(std::span<const Report> reports) {
  json::array gpus;
  for (const Report& report : reports) {
    gpus.push_back(JsonOf(report));
  }
  const bool is_good =
      !reports.empty() &&
      std::ranges::all_of(
          reports, [](Outcome outcome) { return outcome == Outcome::kPassed; }, &Report::outcome);
  return {{"passed", is_good}, {"gpus", std::move(gpus)}};
}

}  // namespace kgpu::validate
