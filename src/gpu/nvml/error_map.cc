#include "src/gpu/nvml/error_map.h"

#include <algorithm>
#include <array>

namespace kgpu::nvml {
namespace {

struct Entry {
  Return code;
  StatusCode status;
  std::string_view text;
};

constexpr std::array kEntries = {
    Entry{kErrorUninitialized, StatusCode::kUnavailable, "the library is not initialized"},
    Entry{kErrorInvalidArgument, StatusCode::kInternal, "invalid argument"},
    Entry{kErrorNotSupported, StatusCode::kUnimplemented, "not supported by this device"},
    Entry{kErrorNoPermission, StatusCode::kPermissionDenied,
          "insufficient permissions, or the device node cannot be opened"},
    Entry{kErrorAlreadyInitialized, StatusCode::kInternal, "the library is already initialized"},
    Entry{kErrorNotFound, StatusCode::kNotFound, "no such object"},
    Entry{kErrorInsufficientSize, StatusCode::kInternal, "the buffer is too small"},
    Entry{kErrorInsufficientPower, StatusCode::kFailedPrecondition,
          "the GPU's external power cables are not attached properly"},
    Entry{kErrorDriverNotLoaded, StatusCode::kUnavailable,
          "the NVIDIA kernel module is not loaded"},
    Entry{kErrorTimeout, StatusCode::kDeadlineExceeded, "the driver's own timeout expired"},
    Entry{kErrorIrqIssue, StatusCode::kFailedPrecondition,
          "the kernel module receives no interrupts from the GPU"},
    Entry{kErrorLibraryNotFound, StatusCode::kNotFound, "a library of the driver was not found"},
    Entry{kErrorFunctionNotFound, StatusCode::kUnimplemented,
          "this driver does not have the function"},
    Entry{kErrorCorruptedInforom, StatusCode::kFailedPrecondition, "the InfoROM is corrupted"},
    Entry{kErrorGpuIsLost, StatusCode::kUnavailable,
          "the GPU has fallen off the bus or is inaccessible"},
    Entry{kErrorResetRequired, StatusCode::kFailedPrecondition, "the GPU must be reset first"},
    Entry{kErrorOperatingSystem, StatusCode::kPermissionDenied,
          "the operating system or a cgroup blocks the device"},
    Entry{kErrorLibRmVersionMismatch, StatusCode::kFailedPrecondition,
          "kernel module and library have different driver versions"},
    Entry{kErrorInUse, StatusCode::kUnavailable, "the GPU is in use"},
    Entry{kErrorMemory, StatusCode::kResourceExhausted, "out of memory"},
    Entry{kErrorNoData, StatusCode::kNotFound, "no data"},
    Entry{kErrorVgpuEccNotSupported, StatusCode::kUnimplemented,
          "not supported with ECC on a vGPU"},
    Entry{kErrorInsufficientResources, StatusCode::kResourceExhausted,
          "a driver resource is exhausted"},
    Entry{kErrorFreqNotSupported, StatusCode::kUnimplemented, "the frequency is not supported"},
    Entry{kErrorArgumentVersionMismatch, StatusCode::kUnimplemented,
          "the driver does not support this version of the argument"},
    Entry{kErrorDeprecated, StatusCode::kUnimplemented, "this driver no longer has the function"},
    Entry{kErrorNotReady, StatusCode::kUnavailable, "the system is not ready"},
    Entry{kErrorGpuNotFound, StatusCode::kNotFound, "no GPU was found"},
    Entry{kErrorInvalidState, StatusCode::kFailedPrecondition, "the object is in the wrong state"},
    Entry{kErrorResetTypeNotSupported, StatusCode::kUnimplemented,
          "this kind of reset is not supported"},
    Entry{kErrorUnknown, StatusCode::kUnavailable, "internal driver error"},
};

const Entry* Find(Return code) {
  const auto* found = std::ranges::find(kEntries, code, &Entry::code);
  return found == kEntries.end() ? nullptr : found;
}

}  // namespace

std::string_view Explain(Return code) {
  if (code == kSuccess) {
    return "success";
  }
  const Entry* entry = Find(code);
  return entry == nullptr ? "unknown NVML return code" : entry->text;
}

Status ReturnStatus(Return code, std::string_view what) {
  if (code == kSuccess) {
    return OkStatus();
  }
  const Entry* entry = Find(code);
  const StatusCode status = entry == nullptr ? StatusCode::kUnavailable : entry->status;
  return MakeStatus(status,
                    fmt::format("{}: {} (NVML {})", what, Explain(code), static_cast<int>(code)));
}

bool IsBenign(Return code) {
  switch (code) {
    case kSuccess:
    case kErrorNotSupported:
    case kErrorFunctionNotFound:
    case kErrorNoPermission:
    case kErrorNotFound:
    case kErrorNoData:
    case kErrorDeprecated:
    case kErrorArgumentVersionMismatch:
    case kErrorInvalidArgument:
    case kErrorInsufficientSize:
    case kErrorCorruptedInforom:
      return true;
    default:
      return false;
  }
}

bool IsDriverGone(Return code) {
  return code == kErrorUninitialized || code == kErrorDriverNotLoaded ||
         code == kErrorLibRmVersionMismatch;
}

}  // namespace kgpu::nvml
