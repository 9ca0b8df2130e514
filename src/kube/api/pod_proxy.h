// Requests to pods through the API server, which need the right to get pods/proxy.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <string_view>

namespace kgpu::kube {

// "/api/v1/namespaces/kgpu/pods/kgpu-agent-x:9401/proxy", for the pod's port with this name; empty:
// it has none. Source: Kubernetes' API reference, connect GET requests to proxy of Pod.
std::string ProxyPathOf(const boost::json::value& pod, std::string_view port_name);

}  // namespace kgpu::kube
