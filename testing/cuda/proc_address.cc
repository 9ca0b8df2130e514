// cuGetProcAddress: entry points by their names without a version, which is how CUDA's own runtime
// finds them.
#include "testing/cuda/library.h"
#include "testing/cuda/proc_table.h"

namespace {

using kgpu::cuda_api::ProcAddressStatus;
using kgpu::cuda_api::Result;

Result Find(const char* name, void** function, int version, uint64_t flags,
            ProcAddressStatus* status) {
  constexpr uint64_t kKnownFlags =
      kgpu::cuda_api::kProcLegacyStream | kgpu::cuda_api::kProcPerThreadStream;
  if (name == nullptr || function == nullptr || (flags & ~kKnownFlags) != 0) {
    return kgpu::cuda_api::kInvalidValue;
  }
  void (*found)() = nullptr;
  *status = kgpu::simcuda::FindFunction(
      name, version, (flags & kgpu::cuda_api::kProcPerThreadStream) != 0, &found);
  *function = reinterpret_cast<void*>(found);
  return found == nullptr ? kgpu::cuda_api::kNotFound : kgpu::cuda_api::kSuccess;
}

}  // namespace

KGPU_CUDA cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
  ProcAddressStatus status{};
  return Find(name, function, version, flags, &status);
}

KGPU_CUDA cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t flags,
                              ProcAddressStatus* status) {
  ProcAddressStatus found{};
  return Find(name, function, version, flags, status != nullptr ? status : &found);
}

// Tables of functions that NVIDIA does not document: there are none here.
KGPU_CUDA cuGetExportTable(const void** table, const kgpu::cuda_api::Uuid* id) {
  if (table == nullptr || id == nullptr) {
    return kgpu::cuda_api::kInvalidValue;
  }
  *table = nullptr;
  return kgpu::cuda_api::kNotFound;
}
