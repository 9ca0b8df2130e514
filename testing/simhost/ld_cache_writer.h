// Writes the cache that ld.so consults, as ldconfig of glibc 2.32 and newer writes it.
#pragma once

#include <string>
#include <vector>

#include "testing/simhost/elf_writer.h"

namespace kgpu::simhost {

struct LdCacheEntry {
  std::string soname;  // "libcuda.so.1"
  std::string path;    // as ld.so opens it: "/lib/x86_64-linux-gnu/libcuda.so.1"
  ElfMachine machine = ElfMachine::kX86_64;
};

// The bytes of an ld.so.cache with these entries, in the order ld.so's binary search needs; of
// equal sonames those of 64-bit machines come first, then the order given decides.
// Source: glibc, elf/cache.c and sysdeps/generic/dl-cache.h ("glibc-ld.so.cache1.1").
std::string LdCache(std::vector<LdCacheEntry> entries);

// strverscmp-like order of ld.so: runs of digits compare as numbers. Less than, equal to or greater
// than zero. Source: glibc, _dl_cache_libcmp.
int CompareLibraryNames(const std::string& left, const std::string& right);

}  // namespace kgpu::simhost
