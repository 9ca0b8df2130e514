// Where GPUs lie to one another, to CPUs and to memory.
#include "testing/driver/libnvidia_ml/call.h"

namespace kgpu::sim {

using nvml::kErrorNotSupported;
using nvml::kSuccess;

namespace {

// `read` gets the state and the slots of two whole GPUs that both answer.
template <typename Read>
Return PairCall(const char* name, Device first, Device second, bool has_arguments, Read&& read) {
  Target one;
  Target two;
  Return result = CheckArguments(has_arguments, first, one);
  if (result == kSuccess) {
    result = CheckArguments(has_arguments, second, two);
  }
  if (result != kSuccess) {
    return result;
  }
  if (one.is_mig || two.is_mig) {
    return kErrorNotSupported;
  }
  return SlotCall(name, one.slot, [&](const Session& session, const SimState& state) {
    Return checked = CheckGpu(session, state, two.slot);
    return checked != kSuccess ? checked : read(state, one.slot, two.slot);
  });
}

}  // namespace

KGPU_NVML nvmlDeviceGetTopologyCommonAncestor(Device first, Device second, int32_t* level) {
  return PairCall("nvmlDeviceGetTopologyCommonAncestor", first, second, level != nullptr,
                  [&](const SimState& state, uint32_t one, uint32_t two) {
                    *level = state.gpus[one].topology[two];
                    if (one == two) {
                      *level = nvml::kTopologyInternal;
                    }
                    return kSuccess;
                  });
}

KGPU_NVML nvmlDeviceGetTopologyNearestGpus(Device device, int32_t level, uint32_t* count,
                                           Device* devices) {
  Target target;
  Return checked = CheckArguments(count != nullptr && level >= 0, device, target);
  if (checked != kSuccess) {
    return checked;
  }
  ListWriter writer(count, devices != nullptr);
  return SlotCall("nvmlDeviceGetTopologyNearestGpus", target.slot,
                  [&](const Session& session, const SimState& state) {
                    writer.Clear();
                    const SimGpu& gpu = state.gpus[target.slot];
                    for (uint32_t i = 0; i < session.gpu_count; ++i) {
                      uint32_t slot = session.gpus[i].slot;
                      if (slot == target.slot || gpu.topology[slot] != level) {
                        continue;
                      }
                      if (int64_t at = writer.Next(); at >= 0 && devices != nullptr) {
                        devices[at] = GpuHandle(slot);
                      }
                    }
                    return writer.Finish();
                  });
}

namespace {

bool ShareNvLink(const SimState& state, uint32_t one, uint32_t two) {
  const SimGpu& gpu = state.gpus[one];
  const SimPci& other = state.gpus[two].pci;
  for (uint32_t i = 0; i < gpu.nvlink_count && i < kMaxNvLinks; ++i) {
    const SimNvLink& link = gpu.nvlinks[i];
    bool is_direct = link.remote.domain == other.domain && link.remote.bus == other.bus &&
                     link.remote.device == other.device;
    if (link.exists != 0 && link.is_active != 0 &&
        (link.remote_type == kRemoteSwitch || is_direct)) {
      return true;
    }
  }
  return false;
}

}  // namespace

KGPU_NVML nvmlDeviceGetP2PStatus(Device first, Device second, int32_t index, int32_t* status) {
  bool is_known = index >= nvml::kP2pRead && index <= nvml::kP2pPci;
  return PairCall("nvmlDeviceGetP2PStatus", first, second, status != nullptr && is_known,
                  [&](const SimState& state, uint32_t one, uint32_t two) {
                    bool has_nvlink = ShareNvLink(state, one, two);
                    bool near = state.gpus[one].topology[two] <= nvml::kTopologyNode;
                    bool needs_nvlink = index == nvml::kP2pNvLink || index == nvml::kP2pAtomics;
                    bool works = has_nvlink || (!needs_nvlink && near);
                    *status = works ? nvml::kP2pOk : nvml::kP2pNotSupported;
                    return kSuccess;
                  });
}

namespace {

Return CpuMask(const char* name, Device device, uint32_t words, unsigned long* mask) {
  return GpuCall(name, device, mask != nullptr && words != 0, [&](const SimGpu& gpu) {
    for (uint32_t i = 0; i < words; ++i) {
      mask[i] = i < kCpuMaskWords ? gpu.cpu_mask[i] : 0;
    }
    return kSuccess;
  });
}

}  // namespace

KGPU_NVML nvmlDeviceGetCpuAffinity(Device device, uint32_t words, unsigned long* mask) {
  return CpuMask("nvmlDeviceGetCpuAffinity", device, words, mask);
}

KGPU_NVML nvmlDeviceGetCpuAffinityWithinScope(Device device, uint32_t words, unsigned long* mask,
                                              uint32_t scope) {
  if (scope > 1) {
    return CpuMask("nvmlDeviceGetCpuAffinityWithinScope", device, 0, mask);
  }
  return CpuMask("nvmlDeviceGetCpuAffinityWithinScope", device, words, mask);
}

KGPU_NVML nvmlDeviceGetMemoryAffinity(Device device, uint32_t words, unsigned long* nodes,
                                      uint32_t scope) {
  return GpuCall("nvmlDeviceGetMemoryAffinity", device,
                 nodes != nullptr && words != 0 && scope <= 1, [&](const SimGpu& gpu) {
                   if (gpu.numa_node < 0) {
                     return kErrorNotSupported;
                   }
                   auto node = static_cast<uint32_t>(gpu.numa_node);
                   memset(nodes, 0, words * sizeof(*nodes));
                   if (node / 64 >= words) {
                     return nvml::kErrorInsufficientSize;
                   }
                   nodes[node / 64] = 1UL << (node % 64);
                   return kSuccess;
                 });
}

// Only in libraries newer than 535.
KGPU_NVML nvmlDeviceGetNumaNodeId(Device device, uint32_t* node) {
  return GetValue("nvmlDeviceGetNumaNodeId", device, node, [](const SimGpu& gpu) {
    return gpu.numa_node < 0 ? kUnsupported : static_cast<uint32_t>(gpu.numa_node);
  });
}

}  // namespace kgpu::sim
