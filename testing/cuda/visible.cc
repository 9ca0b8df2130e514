// Which devices a process sees: the session's GPUs, MIG devices by their capability nodes, and what
// CUDA_VISIBLE_DEVICES leaves of them. Source: the CUDA C++ programming guide, "CUDA Environment
// Variables", and the MIG user guide.
#include <fcntl.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "testing/cuda/library.h"

namespace kgpu::simcuda {
namespace {

struct Candidate {
  VisibleDevice device;
  char uuid[48];
};

// At most one entry a GPU and one a compute instance; more MIG devices than that do not fit on any
// GPU of the profiles.
constexpr uint32_t kMaxCandidates = sim::kMaxGpus * 9;

struct Candidates {
  uint32_t count;
  Candidate items[kMaxCandidates];
};

bool OpensNode(const sim::Session& session, uint32_t minor) {
  char node[48];
  (void)snprintf(node, sizeof(node), "dev/nvidia-caps/nvidia-cap%u", minor);
  return sim::ProbeNode(session.root, node, O_RDONLY) == sim::Node::kOpens;
}

void Add(Candidates& found, const VisibleDevice& device, const char* uuid) {
  if (found.count < kMaxCandidates) {
    Candidate& item = found.items[found.count++];
    item.device = device;
    (void)snprintf(item.uuid, sizeof(item.uuid), "%.47s", uuid);
  }
}

void AddInstances(const sim::Session& session, uint32_t slot, uint32_t incarnation,
                  const sim::SimMig& mig, Candidates& found) {
  for (uint32_t gi = 0; gi < sim::kMaxGpuInstances; ++gi) {
    const sim::SimGpuInstance& parent = mig.instances[gi];
    for (uint32_t ci = 0; parent.exists != 0 && ci < sim::kMaxComputeInstances; ++ci) {
      const sim::SimComputeInstance& instance = parent.compute_instances[ci];
      if (instance.exists != 0 && OpensNode(session, parent.cap_minor) &&
          OpensNode(session, instance.cap_minor)) {
        Add(found,
            {.slot = slot,
             .incarnation = incarnation,
             .is_mig = true,
             .gpu_instance = gi,
             .compute_instance = ci},
            instance.uuid);
      }
    }
  }
}

// Whole GPUs go before MIG devices. A GPU in MIG mode is no device by itself.
void Collect(const sim::Session& session, Candidates& found) {
  for (const bool wants_mig : {false, true}) {
    for (uint32_t i = 0; i < session.gpu_count; ++i) {
      const sim::VisibleGpu& visible = session.gpus[i];
      const sim::SimGpu& gpu = session.shared.state->gpus[visible.slot];
      const bool has_mig = gpu.mig.is_capable != 0 && gpu.mig.mode != 0;
      if (!visible.is_permitted || gpu.is_lost != 0 || has_mig != wants_mig) {
        continue;
      }
      if (has_mig) {
        AddInstances(session, visible.slot, visible.incarnation, gpu.mig, found);
      } else {
        Add(found,
            {.slot = visible.slot,
             .incarnation = visible.incarnation,
             .is_mig = false,
             .gpu_instance = sim::kUnsupported,
             .compute_instance = sim::kUnsupported},
            gpu.uuid);
      }
    }
  }
}

// The count without a choice: every GPU; if there is none, only the first MIG device.
uint32_t DefaultCount(const Candidates& found) {
  uint32_t gpus = 0;
  while (gpus < found.count && !found.items[gpus].device.is_mig) {
    ++gpus;
  }
  return gpus > 0 || found.count == 0 ? gpus : 1;
}

// The device that one item of the variable names, or null.
const Candidate* Choose(const Candidates& found, const char* item, size_t size) {
  char* end = nullptr;
  const unsigned long index = strtoul(item, &end, 10);
  if (size > 0 && end == item + size && *item >= '0' && *item <= '9') {
    return index < DefaultCount(found) ? &found.items[index] : nullptr;
  }
  for (uint32_t i = 0; size > 4 && i < found.count; ++i) {
    if (strncmp(found.items[i].uuid, item, size) == 0) {
      return &found.items[i];
    }
  }
  return nullptr;
}

// Items after one that names nothing are ignored, as in CUDA.
void Select(const Candidates& found, const char* wanted, Library* library) {
  while (library->device_count < sim::kMaxGpus) {
    const size_t size = strcspn(wanted, ",");
    const Candidate* chosen = Choose(found, wanted, size);
    if (chosen == nullptr) {
      return;
    }
    library->devices[library->device_count++] = chosen->device;
    // One MIG device at a time.
    if (wanted[size] == '\0' || chosen->device.is_mig) {
      return;
    }
    wanted += size + 1;
  }
}

}  // namespace

void FindDevices(const sim::Session& session, Library* library) {
  auto* found = static_cast<Candidates*>(calloc(1, sizeof(Candidates)));
  if (found == nullptr) {
    return;
  }
  (void)sim::ReadState(*session.shared.state, [&](const sim::SimState&) {
    found->count = 0;
    Collect(session, *found);
    return nvml::kSuccess;
  });
  library->device_count = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): CUDA reads it within cuInit, too
  const char* wanted = getenv("CUDA_VISIBLE_DEVICES");
  if (wanted != nullptr) {
    Select(*found, wanted, library);
  } else {
    for (uint32_t i = 0; i < DefaultCount(*found); ++i) {
      library->devices[library->device_count++] = found->items[i].device;
    }
  }
  free(found);
}

}  // namespace kgpu::simcuda
