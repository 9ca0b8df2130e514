// Writes small but well-formed ELF files and library caches, for tests of their readers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu {

// e_machine of an ELF header. Source: elf(5).
inline constexpr uint16_t kElfX8664 = 62;
inline constexpr uint16_t kElfI386 = 3;
inline constexpr uint16_t kElfAarch64 = 183;

struct ElfImage {
  uint16_t machine = kElfX8664;  // 32-bit layout for kElfI386
  std::string soname;
  std::vector<std::string> needed = {};
  std::string build_id = {};  // raw bytes; empty for no note
};

// A shared object without code: header, three segments, dynamic section, strings, notes.
std::string MakeElf(const ElfImage& image);

// Architecture bits of a cache entry's flags, with the type "ELF for libc6".
inline constexpr uint32_t kCacheX8664 = 0x0303;
inline constexpr uint32_t kCacheI386 = 0x0003;
inline constexpr uint32_t kCacheAarch64 = 0x0a03;

struct CacheLine {
  std::string name;
  std::string path;
  uint32_t flags = kCacheX8664;
  uint64_t hwcap = 0;
};

// A cache of the format glibc-ld.so.cache1.1; with `has_old_table` after an empty ld.so-1.7.0 one.
std::string MakeLdCache(const std::vector<CacheLine>& lines, bool has_old_table = false);

}  // namespace kgpu
