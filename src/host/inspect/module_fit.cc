#include "src/host/inspect/module_fit.h"

#include <fmt/format.h>

#include "src/gpu/cuda/version.h"
#include "src/host/inspect/generation.h"

namespace kgpu::host {

Misfit MisfitOf(uint16_t device_id, const NvrmVersion& module) {
  const Generation generation = GenerationOf(device_id);
  const auto version = cuda::DriverVersion::Parse(module.version);
  if (generation == Generation::kUnknown || !version.ok()) {
    return {};
  }
  const Support support = SupportOf(generation);
  const std::string_view name = ToString(generation);
  if (module.is_open_module && !support.can_open) {
    return {fmt::format("{} GPUs need NVIDIA's proprietary modules, but the open ones ({}) are "
                        "loaded",
                        name, module.version),
            "kgpu driver install --module proprietary"};
  }
  if (!module.is_open_module && (!support.can_closed || IsGrace(device_id))) {
    return {fmt::format("this {} GPU needs NVIDIA's open modules, but the proprietary ones ({}) "
                        "are loaded",
                        name, module.version),
            "kgpu driver install --module open"};
  }
  if (support.last_branch != 0 && version->branch() > support.last_branch) {
    return {fmt::format("branch {} is the last that supports {} GPUs, but driver {} is loaded",
                        support.last_branch, name, module.version),
            "kgpu driver install"};
  }
  if (version->branch() < support.first_branch) {
    return {fmt::format("{} GPUs need driver branch {} or newer, but {} is loaded", name,
                        support.first_branch, module.version),
            "kgpu driver install"};
  }
  return {};
}

}  // namespace kgpu::host
