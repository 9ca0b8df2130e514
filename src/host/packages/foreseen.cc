#include <fmt/format.h>

#include "src/host/packages/package_list.h"
#include "src/host/packages/package_manager.h"

namespace kgpu::packages {

bool Foreseen::Has(std::string_view key, std::string_view version) const {
  return key.starts_with(kRpmKey) || names.contains(std::string(key)) ||
         names.contains(NameOf(key, version));
}

}  // namespace kgpu::packages
