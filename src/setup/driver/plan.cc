#include "src/setup/driver/plan.h"

namespace kgpu::driver {

std::string_view ToString(ModuleKind kind) {
  switch (kind) {
    case ModuleKind::kOpen:
      return "open";
    case ModuleKind::kProprietary:
      return "proprietary";
  }
  return "?";
}

std::string_view ToString(SourceKind kind) {
  switch (kind) {
    case SourceKind::kDistribution:
      return "distribution";
    case SourceKind::kNvidia:
      return "nvidia";
    case SourceKind::kRunFile:
      return "runfile";
    case SourceKind::kLocalRepo:
      return "local-repo";
    case SourceKind::kPrecompiled:
      return "precompiled";
  }
  return "?";
}

bool IsVersion(std::string_view version, std::string_view wanted) {
  return !wanted.empty() && version.starts_with(wanted) &&
         (version.size() == wanted.size() || version[wanted.size()] == '.');
}

}  // namespace kgpu::driver
