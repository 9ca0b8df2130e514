// Roles that every cluster has: what everybody who is known may do, and one that others' bindings
// name.
#pragma once

#include "testing/apiserver/registry.h"
#include "testing/apiserver/resource.h"

namespace kgpu::apiserver {

void MakeFirstRoles(Registry& registry, const ResourceTable& resources);

}  // namespace kgpu::apiserver
