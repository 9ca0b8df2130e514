#include "src/setup/driver/plan.h"

namespace kgpu::driver {

std::string_view ToString(ModuleKind kind) {
  return kModuleKinds[static_cast<size_t>(kind)];
}

std::string_view ToString(SourceKind kind) {
  return kSourceKinds[static_cast<size_t>(kind)];
}

bool IsVersion(std::string_view version, std::string_view wanted) {
  return !wanted.empty() && version.starts_with(wanted) &&
         (version.size() == wanted.size() || version[wanted.size()] == '.');
}

}  // namespace kgpu::driver
