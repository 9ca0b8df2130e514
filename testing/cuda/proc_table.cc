#include "testing/cuda/proc_table.h"

#include <cstring>

// Only the addresses count; the types stand where the functions do.
#define KGPU_FUNCTION(name, version, symbol) void symbol();
#define KGPU_PER_THREAD(name, version, symbol) void symbol();
extern "C" {
#include "testing/cuda/proc_list.inc"
}
#undef KGPU_FUNCTION
#undef KGPU_PER_THREAD

namespace kgpu::simcuda {
namespace {

struct Entry {
  const char* name;
  int version;
  bool is_per_thread;
  void (*function)();
};

#define KGPU_FUNCTION(name, version, symbol) {name, version, false, &symbol},
#define KGPU_PER_THREAD(name, version, symbol) {name, version, true, &symbol},
constexpr Entry kEntries[] = {
#include "testing/cuda/proc_list.inc"
};
#undef KGPU_FUNCTION
#undef KGPU_PER_THREAD

}  // namespace

cuda_api::ProcAddressStatus FindFunction(const char* name, int version, bool is_per_thread,
                                         void (**function)()) {
  cuda_api::ProcAddressStatus status = cuda_api::kProcNotFound;
  const Entry* best = nullptr;
  for (const Entry& entry : kEntries) {
    if (strcmp(entry.name, name) != 0 || (entry.is_per_thread && !is_per_thread)) {
      continue;
    }
    if (entry.version > version) {
      status = best == nullptr ? cuda_api::kProcVersionNotSufficient : status;
    } else if (best == nullptr || entry.is_per_thread || entry.version > best->version) {
      best = &entry;
      status = cuda_api::kProcFound;
    }
  }
  *function = best == nullptr ? nullptr : best->function;
  return status;
}

}  // namespace kgpu::simcuda
