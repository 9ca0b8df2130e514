// Where the files of MPS daemons are, on the host.
#pragma once

#include <string>
#include <string_view>

#include "src/node/sharing/mps/mps.h"

namespace kgpu::mps {

// In the folder of a device, which has the device's UUID as its name.
inline constexpr std::string_view kPipeFolder = sharing::kMpsPipeFolder;  // CUDA_MPS_PIPE_DIRECTORY
inline constexpr std::string_view kLogFolder = "log";                     // CUDA_MPS_LOG_DIRECTORY
inline constexpr std::string_view kRecordName = "record";
// Where programs and server share memory. Source: shm_open(3).
inline constexpr std::string_view kSharedMemory = sharing::kMpsSharedMemory;

// As container engines call them.
struct Paths {
  std::string folder{};                      // of all devices: "/run/kgpu/mps"
  std::string shared_memory{kSharedMemory};  // the daemons' own
  bool operator==(const Paths&) const = default;
};

}  // namespace kgpu::mps
