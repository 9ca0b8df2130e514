// Random UIDs as Kubernetes gives them to its objects.
#pragma once

#include <string>

namespace kgpu::kubelet {

// A version 4 UUID. Source: RFC 9562, getrandom(2).
std::string NewUid();

}  // namespace kgpu::kubelet
