// Output of dpkg-query, rpm, apt-get, dnf and zypper. The first byte selects which.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/host/packages/package_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  constexpr unsigned kKinds = 8;  // of which one is nobody's
  switch (data[0] % kKinds) {
    case 0:
    case 1: {
      const auto list = data[0] % kKinds == 0 ? kgpu::packages::ParseDpkgQuery(text)
                                              : kgpu::packages::ParseRpmQuery(text);
      for (const auto& [name, package] : list) {
        if (name.empty()) {
          std::abort();
        }
      }
      break;
    }
    case 2: {
      const auto simulated = kgpu::packages::ParseAptSimulation(text);
      if (simulated.installed.size() + simulated.removed.size() > size) {
        std::abort();
      }
      break;
    }
    case 3:
      for (const auto& name : kgpu::packages::ParseRpmNeeds(text)) {
        if (name.empty()) {
          std::abort();
        }
      }
      break;
    case 4:
    case 5:
      for (const auto& name : data[0] % kKinds == 4 ? kgpu::packages::ParseDnfTrial(text)
                                                    : kgpu::packages::ParseZypperTrial(text)) {
        if (name.empty()) {
          std::abort();
        }
      }
      break;
    case 6:
      for (const auto& path : kgpu::packages::ParseRpmVerify(text)) {
        if (!path.starts_with('/')) {
          std::abort();
        }
      }
      break;
    default:
      break;
  }
  return 0;
}
