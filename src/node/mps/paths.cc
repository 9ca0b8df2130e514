#include "src/node/mps/paths.h"

#include <fmt/format.h>

#include <algorithm>

namespace kgpu::mps {

Access AccessTo(const Paths& paths, const Part& part) {
  constexpr unsigned kAll = 100;
  Access access;
  access.envs = {
      {"CUDA_MPS_PIPE_DIRECTORY", std::string(kContainerPipe)},
      {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", fmt::format("{}", std::min(part.threads, kAll))},
      // A container with a slot of an MPS device sees no other device.
      {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", fmt::format("0={}M", part.memory.mebi())}};
  // Programs lock and create files in both.
  access.mounts = {
      {.container_path = std::string(kContainerPipe),
       .host_path = fmt::format("{}/{}/{}", paths.folder, part.device_uuid, kPipeFolder),
       .is_read_only = false},
      {.container_path = std::string(kSharedMemory),
       .host_path = paths.shared_memory,
       .is_read_only = false}};
  return access;
}

}  // namespace kgpu::mps
