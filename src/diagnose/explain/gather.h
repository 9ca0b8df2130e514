// Reads from an API server what explaining one pod takes: as little as can be.
#pragma once

#include <boost/json/fwd.hpp>

#include <functional>
#include <string>
#include <string_view>

#include "src/diagnose/explain/dump.h"
#include "src/kube/api/client.h"
#include "src/platform/base/status.h"

namespace kgpu::explain {

// Asks the server, and waits. Errors: those of kube::Client::Send.
using Ask = std::function<StatusOr<boost::json::value>(kube::ApiRequest)>;

// The pod, its events, the nodes, the pods that are on nodes with GPUs, the rules of the namespace
// and DRA's objects, all without what is not judged. What may not be read is reported in
// `unreadable`; a pod that is not there is none of the items. Errors: the server is not reached, or
// forbids to read the pod.
StatusOr<Dump> Gather(const Ask& ask, std::string_view space, std::string_view name);

}  // namespace kgpu::explain
