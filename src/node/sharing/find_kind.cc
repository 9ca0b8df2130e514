#include <algorithm>

#include "src/node/sharing/kind.h"

namespace kgpu::sharing {
namespace {

template <typename NameOfKind>
const Kind* Find(std::string_view name, NameOfKind name_of) {
  const auto kinds = Kinds();
  const auto found = std::ranges::find_if(
      kinds, [&](const Kind* kind) { return !name.empty() && name_of(kind->traits()) == name; });
  return found == kinds.end() ? nullptr : *found;
}

}  // namespace

const Kind* FindKind(std::string_view name) {
  return Find(name, [](const Traits& traits) { return traits.name; });
}

const Kind* FindBySection(std::string_view name) {
  return Find(name, [](const Traits& traits) { return traits.foreign.section; });
}

const Kind* FindByGkeName(std::string_view name) {
  return Find(name, [](const Traits& traits) { return traits.foreign.gke; });
}

}  // namespace kgpu::sharing
