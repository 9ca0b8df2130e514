#include "src/driver/choice.h"

#include <fmt/format.h>

namespace kgpu::driver {

StatusOr<Choice> Choose(const HostFacts& facts, const Request& request) {
  Choice choice;
  choice.version = facts.distribution.major >= 13 ? "550" : "535";
  choice.branch = facts.distribution.major >= 13 ? 550 : 535;
  choice.kind = request.kind.value_or(ModuleKind::kProprietary);
  choice.why.push_back(fmt::format("{} has branch {}", facts.distribution.name, choice.version));
  return choice;
}

}  // namespace kgpu::driver
