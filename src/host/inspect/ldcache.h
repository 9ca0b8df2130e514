// Reads ld.so.cache, the index of shared libraries that ldconfig writes. Source: glibc
// sysdeps/generic/dl-cache.h; format "glibc-ld.so.cache1.1", alone or after the older "ld.so-1.7.0"
// table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/host/inspect/elf.h"
#include "src/platform/base/status.h"

namespace kgpu::host {

// Size limit of a cache: real ones have about 100 kB.
inline constexpr size_t kLdCacheLimit = size_t{32} << 20;

struct LdCacheEntry {
  std::string name;                           // SONAME: "libcuda.so.1"
  std::string path;                           // file or link, as ldconfig saw it
  ElfMachine machine = ElfMachine::kUnknown;  // from the flags; unknown: none of ours
  bool is_hwcaps = false;                     // chosen only on processors with certain features
  bool operator==(const LdCacheEntry&) const = default;
};

// The ELF entries in the order of the file, which is the order that ld.so prefers. Errors:
// InvalidArgument naming the problem (magic, byte order, entry or string out of bounds).
StatusOr<std::vector<LdCacheEntry>> ParseLdCache(std::string_view bytes);

}  // namespace kgpu::host
