// Random UIDs like those of Kubernetes objects.
#pragma once

#include <string>

namespace kgpu::kubelet {

// A version 4 UUID. Source: RFC 9562, getrandom(2).
std::string NewUid();

}  // namespace kgpu::kubelet
