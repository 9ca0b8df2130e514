#include "src/host/inspect/ldcache.h"

#include <cstdint>
#include <cstring>
#include <optional>

#include "src/platform/base/status_macros.h"

namespace kgpu::host {
namespace {

constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
constexpr std::string_view kOldMagic = "ld.so-1.7.0";
constexpr size_t kOldHeader = 16;
constexpr size_t kOldEntry = 12;
constexpr size_t kHeader = 48;
constexpr size_t kEntry = 24;
constexpr size_t kNameLimit = 4096;

// Bits of an entry's flags: the low byte is the library's type, the next one its architecture.
constexpr uint32_t kTypeMask = 0x00ff;
constexpr uint32_t kArchitectureMask = 0xff00;
constexpr uint32_t kElfLibc6 = 0x0003;
constexpr uint32_t kX8664 = 0x0300;
constexpr uint32_t kAarch64 = 0x0a00;
constexpr uint32_t kDefault = 0x0000;  // i386 on x86 hosts

// Byte order as the header names it.
constexpr uint8_t kOrderUnset = 0;
constexpr uint8_t kOrderLittle = 2;

// The caller has checked the bounds.
template <typename T>
T Load(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

ElfMachine MachineOf(uint32_t flags) {
  switch (flags & kArchitectureMask) {
    case kX8664:
      return ElfMachine::kX86_64;
    case kAarch64:
      return ElfMachine::kAarch64;
    case kDefault:
      return ElfMachine::kI386;
    default:
      return ElfMachine::kUnknown;
  }
}

// Where the new table begins: at 0, or behind the old one, aligned to 8 (4 on 32-bit hosts).
StatusOr<std::string_view> NewTable(std::string_view bytes) {
  if (bytes.starts_with(kMagic)) {
    return bytes;
  }
  if (!bytes.starts_with(kOldMagic) || bytes.size() < kOldHeader) {
    return InvalidArgument("ld.so.cache does not begin with \"{}\": run ldconfig", kMagic);
  }
  const auto count = Load<uint32_t>(bytes, kOldHeader - sizeof(uint32_t));
  const uint64_t end = kOldHeader + uint64_t{count} * kOldEntry;
  for (const uint64_t alignment : {8, 4}) {
    const uint64_t start = (end + alignment - 1) / alignment * alignment;
    if (start < bytes.size() && bytes.substr(start).starts_with(kMagic)) {
      return bytes.substr(start);
    }
  }
  return InvalidArgument(
      "ld.so.cache has only the table of glibc before 2.2 ({} entries): run ldconfig", count);
}

// The string at `offset`, up to its zero byte.
std::optional<std::string_view> StringAt(std::string_view table, uint32_t offset) {
  if (offset >= table.size()) {
    return std::nullopt;
  }
  const std::string_view rest = table.substr(offset, kNameLimit);
  const size_t end = rest.find('\0');
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  return rest.substr(0, end);
}

}  // namespace

StatusOr<std::vector<LdCacheEntry>> ParseLdCache(std::string_view bytes) {
  if (bytes.size() > kLdCacheLimit) {
    return InvalidArgument("ld.so.cache has {} bytes, more than {}", bytes.size(), kLdCacheLimit);
  }
  ASSIGN_OR_RETURN(const std::string_view table, NewTable(bytes));
  if (table.size() < kHeader) {
    return InvalidArgument("ld.so.cache ends inside its header");
  }
  const auto order = Load<uint8_t>(table, 28);
  if (order != kOrderUnset && order != kOrderLittle) {
    return InvalidArgument("ld.so.cache has another byte order ({})", order);
  }
  const auto count = Load<uint32_t>(table, 20);
  if (count > (table.size() - kHeader) / kEntry) {
    return InvalidArgument("ld.so.cache claims {} entries, but its {} bytes hold fewer", count,
                           table.size());
  }
  std::vector<LdCacheEntry> entries;
  entries.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t offset = kHeader + i * kEntry;
    const auto flags = Load<uint32_t>(table, offset);
    if ((flags & kTypeMask) != kElfLibc6) {
      continue;
    }
    const auto name = StringAt(table, Load<uint32_t>(table, offset + 4));
    const auto path = StringAt(table, Load<uint32_t>(table, offset + 8));
    if (!name || !path) {
      return InvalidArgument("ld.so.cache entry {} points beyond the end of the file", i);
    }
    entries.push_back({.name = std::string(*name),
                       .path = std::string(*path),
                       .machine = MachineOf(flags),
                       .is_hwcaps = Load<uint64_t>(table, offset + 16) != 0});
  }
  return entries;
}

}  // namespace kgpu::host
