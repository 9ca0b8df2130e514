// NUMA nodes, swap, huge pages and non-volatile memory. Sources: /sys/bus/node/devices,
// /proc/swaps, /sys/kernel/mm/hugepages, /sys/bus/nd/devices.
#include <algorithm>
#include <array>

#include "src/host/features/source.h"
#include "src/platform/base/strings.h"

namespace kgpu::features {
namespace {

const char* MemoryClaim(bool is_so) {
  return is_so ? "true" : "false";
}

void ReadNuma(const Source& source) {
  // A kernel without NUMA has no such folder: the machine is one node.
  const size_t nodes = std::max<size_t>(1, source.List("sys/bus/node/devices").size());
  source.attributes("memory.numa") = {{"is_numa", MemoryClaim(nodes > 1)},
                                      {"node_count", std::to_string(nodes)}};
}

void ReadSwap(const Source& source) {
  const FileText file = ReadText(source.host, "proc/swaps", sys::kDefaultReadLimit);
  // A kernel without swap has no such file.
  if (!file.ok() && !file.is_missing()) {
    source.ComplainOf("proc/swaps", file.error);
    return;
  }
  // The first line is a heading; blanks around the text are gone.
  const bool has_swap = file.text.find('\n') != std::string::npos;
  source.attributes("memory.swap") = {{"enabled", MemoryClaim(has_swap)}};
}

// "2Mi" of "hugepages-2048kB", as Kubernetes writes the quantity.
std::optional<std::string> PageSize(std::string_view folder) {
  constexpr std::string_view kPagesPrefix = "hugepages-";
  constexpr std::string_view kUnit = "kB";
  constexpr std::array kUnits = {"Ki", "Mi", "Gi", "Ti"};
  if (!folder.starts_with(kPagesPrefix) || !folder.ends_with(kUnit)) {
    return std::nullopt;
  }
  folder.remove_prefix(kPagesPrefix.size());
  folder.remove_suffix(kUnit.size());
  std::optional<uint64_t> size = ParseUint(folder);
  if (!size || *size == 0) {
    return std::nullopt;
  }
  size_t unit = 0;
  while (*size % 1024 == 0 && unit + 1 < kUnits.size()) {
    *size /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", *size, kUnits[unit]);
}

void ReadHugePages(const Source& source) {
  constexpr const char* kFolder = "sys/kernel/mm/hugepages";
  Attributes& pages = source.attributes("memory.hugepages");
  bool has_pages = false;
  for (const std::string& name : source.List(kFolder)) {
    const std::optional<std::string> size = PageSize(name);
    const std::optional<std::string> count =
        size ? source.Text(fmt::format("{}/{}/nr_hugepages", kFolder, name)) : std::nullopt;
    if (count) {
      has_pages = has_pages || ParseUint(*count).value_or(0) > 0;
      pages.emplace("hugepages-" + *size, *count);
    }
  }
  pages["enabled"] = MemoryClaim(has_pages);
}

void ReadNonVolatile(const Source& source) {
  constexpr const char* kFolder = "sys/bus/nd/devices";
  Instances& devices = source.instances("memory.nv");
  const Folder bus = Folder::Open(source.host, kFolder);
  for (const std::string& name : source.List(kFolder)) {
    const Folder folder = bus.OpenEntry(source.host, name);
    Attributes device = {{"name", name}};
    for (const char* attribute : {"devtype", "mode"}) {
      if (std::optional<std::string> text = folder.Text(attribute)) {
        device.emplace(attribute, *std::move(text));
      }
    }
    devices.push_back(std::move(device));
  }
}

}  // namespace

void ReadMemory(const Source& source) {
  ReadNuma(source);
  ReadSwap(source);
  ReadNonVolatile(source);
  ReadHugePages(source);
}

}  // namespace kgpu::features
