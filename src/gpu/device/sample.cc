#include "src/gpu/device/sample.h"

#include <algorithm>

namespace kgpu::device {

const GpuSample* SampleSet::Find(const GpuUuid& uuid) const {
  const auto found = std::ranges::find(gpus, uuid, &GpuSample::uuid);
  return found == gpus.end() ? nullptr : &*found;
}

}  // namespace kgpu::device
