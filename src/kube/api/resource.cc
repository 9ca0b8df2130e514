#include "src/kube/api/resource.h"

namespace kgpu::kube {

std::string Resource::Collection(std::string_view space) const {
  return PathOf({group.empty() ? "api" : "apis", group, version, space.empty() ? "" : "namespaces",
                 space, plural});
}

std::string Resource::Object(std::string_view space, std::string_view name,
                             std::string_view subresource) const {
  return Collection(space) + PathOf({name, subresource});
}

}  // namespace kgpu::kube
