// First byte: which list. What is read keeps the limits, and its names written as a list again read
// as the same.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/container/shim/visible_devices.h"

namespace {

void Require(bool claim) {
  if (!claim) {
    std::abort();
  }
}

std::string Printed(const kgpu::shim::DeviceList& list) {
  if (list.kind == kgpu::shim::DeviceList::Kind::kDriverOnly) {
    return "none";
  }
  std::string text = list.all ? "all" : "";
  for (const std::string& name : list.names) {
    text += ',';
    text += name;
  }
  for (const kgpu::shim::CdiName& name : list.cdi) {
    text += ',';
    text += name.str();
  }
  return text;
}

void CheckDevices(std::string_view text) {
  const auto list = kgpu::shim::ParseVisibleDevices(text);
  if (!list.ok()) {
    return;
  }
  Require(list->names.size() + list->cdi.size() <= kgpu::shim::kMostNames);
  for (const std::string& name : list->names) {
    // Never a way out of a folder, never anything that writes to a terminal.
    Require(name.find("..") == std::string::npos && name.find('\x1b') == std::string::npos);
  }
  Require(kgpu::shim::ParseVisibleDevices(Printed(*list)).value() == *list);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'c':
      kgpu::shim::ParseCdiNames(text).status().IgnoreError();
      break;
    case 'i':
      kgpu::shim::ParseImexChannels(text).status().IgnoreError();
      break;
    default:
      CheckDevices(text);
  }
  return 0;
}
