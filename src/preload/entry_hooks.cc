// The driver's own ways to hand out functions: cuGetProcAddress and cuGetExportTable.
#include "src/preload/hook.h"

namespace cu = kgpu::cuda_api;

namespace kgpu::preload {
namespace {

constexpr int kNewestVersion = 13020;  // CUDA's, of the headers that hooks.inc was made from

bool IsSameAsKnown(const char* name, int version, uint64_t flags, const void* found) {
  void* known = nullptr;
  if (version <= kNewestVersion) {
    return true;
  }
  auto* get = Real<cu::GetProcAddressFn>(k_cuGetProcAddress_v2);
  cu::ProcAddressStatus status = cu::kProcNotFound;
  return get != nullptr && get(name, &known, kNewestVersion, flags, &status) == cu::kSuccess &&
         known == found;
}

// Replaces what the driver has found by our stand-in, or by nothing.
bool Replace(const char* name, int version, uint64_t flags, void** function) {
  const bool is_per_thread = (flags & cu::kProcPerThreadStream) != 0;
  const int known_version = version > kNewestVersion ? kNewestVersion : version;
  if (!IsKnownName(name) || !IsSameAsKnown(name, version, flags, *function)) {
    return MayUseUnknown("driver function", name);
  }
  // What cuGetProcAddress hands out is mostly what the driver exports. Else the name decides, which
  // may have its version, too.
  HookId id = FindHookByAddress(*function);
  id = id == kHookCount ? FindHookByBase(name, known_version, is_per_thread) : id;
  id = id == kHookCount ? FindHook(name) : id;
  if (id != kHookCount) {
    *function = HookOf(id).function;
  }
  return true;
}

// Tables of functions that NVIDIA's own libraries get; none of these hands out device memory other
// than contexts, which are charged when they are first used, and modules. Source: what CUDA's
// runtime and libraries of CUDA 11 to 13 ask for.
constexpr cu::Uuid kKnownTables[] = {
    // The runtime: modules, hooks for tools, storage of threads and contexts, checks.
    {{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d,
      0xf9}},
    {{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a,
      0x66}},
    {{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec,
      0xdc}},
    {{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95,
      0x93}},
    {{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa,
      0x7e}},
    {{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1,
      0xf2}},
    {{0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46, 0x9e, 0x7c, 0x0d,
      0xd9}},
    // Libraries: contexts of streams, functions, devices, profilers.
    {{0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8,
      0xf2}},
    {{0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d, 0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1, 0x99,
      0x1e}},
    {{0xb1, 0x05, 0x41, 0xe1, 0xf7, 0xc7, 0xc7, 0x4a, 0x9f, 0x64, 0xf2, 0x23, 0xbe, 0x99, 0xf1,
      0xe2}},
    {{0x7c, 0xb6, 0x3f, 0x9b, 0x9c, 0xa4, 0x8e, 0x42, 0xa4, 0x84, 0xbe, 0xb6, 0x6e, 0x6a, 0xed,
      0x7f}},
    {{0xa3, 0x17, 0x46, 0xd1, 0x54, 0x75, 0xef, 0x4e, 0xae, 0xb6, 0xdf, 0xb1, 0x47, 0x6a, 0xdd,
      0x6c}},
    {{0xd7, 0xbd, 0x8a, 0xf8, 0xe7, 0xac, 0xca, 0x4a, 0xbd, 0xbc, 0xfb, 0x1f, 0x1b, 0x3f, 0xcf,
      0x33}},
};

bool IsKnownTable(const cu::Uuid& id) {
  for (const cu::Uuid& known : kKnownTables) {
    bool is_same = true;
    for (int at = 0; at < 16; ++at) {
      is_same = is_same && known.bytes[at] == id.bytes[at];
    }
    if (is_same) {
      return true;
    }
  }
  return false;
}

bool MayUseTable(const cu::Uuid& id) {
  char text[33] = {};
  for (int at = 0; at < 32; ++at) {
    text[at] = "0123456789abcdef"[(id.bytes[at / 2] >> (at % 2 == 0 ? 4 : 0)) & 15];
  }
  return IsKnownTable(id) || MayUseUnknown("the driver's table", text);
}

}  // namespace
}  // namespace kgpu::preload

using namespace kgpu::preload;  // NOLINT(google-build-using-namespace): what follows is C

KGPU_STAND_IN cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
  const Result result =
      KGPU_CALL_REAL(GetProcAddressV1Fn, cuGetProcAddress, name, function, version, flags);
  if (result != cu::kSuccess || function == nullptr || *function == nullptr) {
    return result;
  }
  if (!Replace(name, version, flags, function)) {
    *function = nullptr;
    return cu::kNotFound;
  }
  return result;
}

// Without a function the newer form still says success; the status says what is missing.
KGPU_STAND_IN cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t flags,
                                  cu::ProcAddressStatus* status) {
  const Result result =
      KGPU_CALL_REAL(GetProcAddressFn, cuGetProcAddress_v2, name, function, version, flags, status);
  if (result != cu::kSuccess || function == nullptr || *function == nullptr) {
    return result;
  }
  if (!Replace(name, version, flags, function)) {
    *function = nullptr;
    if (status != nullptr) {
      *status = cu::kProcNotFound;
    }
    return cu::kNotFound;
  }
  return result;
}

KGPU_STAND_IN cuGetExportTable(const void** table, const cu::Uuid* id) {
  if (table != nullptr && id != nullptr && !MayUseTable(*id)) {
    *table = nullptr;
    return cu::kNotFound;
  }
  return KGPU_CALL_REAL(GetExportTableFn, cuGetExportTable, table, id);
}
