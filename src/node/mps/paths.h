// Where MPS' files are: on the host, and in the containers of programs that use MPS.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/share/slice_paths.h"
#include "src/platform/base/bytes.h"

namespace kgpu::mps {

// In the folder of a device, which has the device's UUID as its name.
inline constexpr std::string_view kPipeFolder = "pipe";  // CUDA_MPS_PIPE_DIRECTORY
inline constexpr std::string_view kLogFolder = "log";    // CUDA_MPS_LOG_DIRECTORY
inline constexpr std::string_view kRecordName = "record";
// The device's pipe folder in a container.
inline constexpr std::string_view kContainerPipe = "/usr/lib/kgpu/mps";
// Where programs and server share memory, in a container and for the daemon. Source: shm_open(3).
inline constexpr std::string_view kSharedMemory = "/dev/shm";

// As container engines call them.
struct Paths {
  std::string folder{};                      // of all devices: "/run/kgpu/mps"
  std::string shared_memory{kSharedMemory};  // the daemons' own
  bool operator==(const Paths&) const = default;
};

// The slots of one device that a container has, together.
struct Part {
  std::string device_uuid;
  unsigned threads = 0;  // percent
  Bytes memory{};
};

// What a container gets to be a client of the device's daemon.
struct Access {
  std::map<std::string, std::string> envs;
  std::vector<share::SliceMount> mounts;
};

// The limits in the environment are for programs that keep to them: those that are larger, or that
// a program removes, end at the daemon's settings.
Access AccessTo(const Paths& paths, const Part& part);

}  // namespace kgpu::mps
