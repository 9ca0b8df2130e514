#include "src/diagnose/validate/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "src/diagnose/validate/abi.h"
#include "src/diagnose/validate/protocol.h"

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
  const std::string_view outcome = ToString(report.outcome);
  return {{"name", report.name},
          {"uuid", report.uuid},
          {"computeCapability", report.compute_capability},
          {"cuda", report.cuda},
          {"outcome", json::string_view(outcome.data(), outcome.size())},
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
             "name it by --cuda-library.";
    case kNoHostMemory:
      return "This machine, or this container's limit, has too little memory left for the test: "
             "raise the limit (1 GiB is plenty), or end what takes it.";
    case kWrongResult:
      return "The GPU computes wrongly: take it out of service (kgpu health shows its ECC errors "
             "and row remaps) and have it replaced.";
    case cuda_api::kNoDevice:
      return "CUDA sees no GPU: see kgpu devices; in a container, was it given one? A GPU in MIG "
             "mode without MIG devices counts for none.";
    case cuda_api::kEccUncorrectable:
      return "Uncorrectable memory error: reset the GPU (nvidia-smi --gpu-reset) and see kgpu "
             "health.";
    case cuda_api::kStubLibrary:
      return "This libcuda is the toolkit's stub, made for linking: take its folder (stubs) out of "
             "the loader's path, or name the driver's file by --cuda-library.";
    case cuda_api::kJitCompilerNotFound:
      return "The driver's compiler is missing: install libnvidia-ptxjitcompiler of the driver's "
             "version; in a container, \"compute\" must be among NVIDIA_DRIVER_CAPABILITIES.";
    case cuda_api::kUnsupportedPtxVersion:
      return "The driver is older than the kernel's PTX, 6.0 (CUDA 9.0, driver 384): update the "
             "driver.";
    case cuda_api::kInvalidPtx:
      return "The driver's compiler refuses what others take: is libnvidia-ptxjitcompiler of the "
             "driver's version (kgpu doctor)?";
    case cuda_api::kJitCompilationDisabled:
      return "The driver is told to compile nothing (CUDA_DISABLE_PTX_JIT): take that out, or use "
             "another container.";
    case cuda_api::kCompatNotSupported:
      return "This libcuda is of cuda-compat, which runs on data-centre GPUs alone: take its "
             "folder "
             "(compat) out of the loader's path and use the driver's own, or update the driver.";
    case cuda_api::kOutOfMemory:
      return "The GPU's memory is taken: end what uses it (kgpu devices, nvidia-smi).";
    case cuda_api::kDeviceUnavailable:
      return "Another process holds the GPU for itself: end it, or see its compute mode "
             "(nvidia-smi -q -d COMPUTE).";
    case cuda_api::kSystemNotReady:
      return "The GPUs' fabric is not ready: start the fabric manager (systemctl enable --now "
             "nvidia-fabricmanager), of the driver's version.";
    case cuda_api::kDriverMismatch:
      return "libcuda is not of the loaded kernel module's version: load the new module, or "
             "reboot.";
    case cuda_api::kUnknown:
      return "Often /dev/nvidia-uvm is missing (modprobe nvidia-uvm; nvidia-modprobe -u -c 0), or "
             "the GPU fell off the bus: see kgpu devices and the kernel's log.";
    default:
      return "See kgpu health and the kernel's log (dmesg | grep NVRM).";
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
  return "See the kernel's log (dmesg | grep -e NVRM -e Xid) and kgpu health; a GPU that hangs "
         "needs a reset or a reboot.";
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
    text += "Every sum is right\n";
  }
  AddSpeed(text, "Copy host to device", report.host_to_device);
  AddSpeed(text, "Copy device to host", report.device_to_host);
  AddSpeed(text, "Copy within the device", report.within_device);
  if (report.burn_flops) {
    text += fmt::format("{:<26}{:8.2f} TFLOP/s, every result right\n", "Burn, single precision",
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
