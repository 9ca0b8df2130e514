#include "testing/simhost/ld_cache_writer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "src/platform/base/ascii.h"

namespace kgpu::simhost {
namespace {

struct FileHeader {
  char magic[17];
  char version[3];
  uint32_t library_count;
  uint32_t string_bytes;
  uint8_t flags;
  uint8_t padding[3];
  uint32_t extension_offset;
  uint32_t unused[3];
};
static_assert(sizeof(FileHeader) == 48);

struct FileEntry {
  int32_t flags;
  uint32_t key;  // offsets from the start of the file
  uint32_t value;
  uint32_t os_version;
  uint64_t hwcap;
};
static_assert(sizeof(FileEntry) == 24);

constexpr uint8_t kLittleEndian = 2;

// FLAG_ELF_LIBC6 and the machine's flag. Source: glibc, sysdeps/generic/ldconfig.h.
int32_t Flags(ElfMachine machine) {
  switch (machine) {
    case ElfMachine::kX86:
      return 0x0003;
    case ElfMachine::kAarch64:
      return 0x0a03;
    case ElfMachine::kX86_64:
      break;
  }
  return 0x0303;
}

// The number at `at`, moving `at` past it.
uint64_t TakeNumber(const std::string& text, size_t& at) {
  uint64_t value = 0;
  while (at < text.size() && IsDigit(text[at])) {
    value = value * 10 + static_cast<uint64_t>(text[at++] - '0');
  }
  return value;
}

char CharAt(const std::string& text, size_t at) {
  return at < text.size() ? text[at] : '\0';
}

template <typename T>
int Order(T left, T right) {
  return left == right ? 0 : left < right ? -1 : 1;
}

// Compares the next number or character of each and moves past it. A number comes after all else.
int CompareNext(const std::string& left, size_t& l, const std::string& right, size_t& r) {
  const char a = CharAt(left, l);
  const char b = CharAt(right, r);
  if (IsDigit(a) != IsDigit(b)) {
    return IsDigit(a) ? 1 : -1;
  }
  if (IsDigit(a)) {
    const uint64_t left_number = TakeNumber(left, l);
    return Order(left_number, TakeNumber(right, r));
  }
  ++l;
  ++r;
  return Order(a, b);
}

}  // namespace

int CompareLibraryNames(const std::string& left, const std::string& right) {
  size_t l = 0;
  size_t r = 0;
  while (l < left.size()) {
    if (const int order = CompareNext(left, l, right, r); order != 0) {
      return order;
    }
  }
  return r < right.size() ? -1 : 0;
}

std::string LdCache(std::vector<LdCacheEntry> entries) {
  std::ranges::stable_sort(entries, [](const LdCacheEntry& left, const LdCacheEntry& right) {
    const int order = CompareLibraryNames(left.soname, right.soname);
    return order != 0 ? order > 0 : Flags(left.machine) > Flags(right.machine);
  });
  const size_t table = sizeof(FileHeader) + entries.size() * sizeof(FileEntry);
  std::string strings;
  std::string records;
  const auto add = [&](std::string_view text) {
    const auto offset = static_cast<uint32_t>(table + strings.size());
    strings.append(text).push_back('\0');
    return offset;
  };
  for (const LdCacheEntry& entry : entries) {
    FileEntry record{};
    record.flags = Flags(entry.machine);
    record.key = add(entry.soname);
    record.value = add(entry.path);
    records.append(reinterpret_cast<const char*>(&record), sizeof record);
  }
  FileHeader header{};
  std::memcpy(header.magic, "glibc-ld.so.cache", sizeof header.magic);
  std::memcpy(header.version, "1.1", sizeof header.version);
  header.library_count = static_cast<uint32_t>(entries.size());
  header.string_bytes = static_cast<uint32_t>(strings.size());
  header.flags = kLittleEndian;
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  return file + records + strings;
}

}  // namespace kgpu::simhost
