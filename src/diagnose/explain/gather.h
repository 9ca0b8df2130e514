// Reads from an API server what is needed to explain one pod or claim, and no more.
#pragma once

#include <boost/json/fwd.hpp>

#include <functional>
#include <string>
#include <string_view>

#include "src/diagnose/explain/dump.h"
#include "src/kube/api/client.h"
#include "src/platform/base/status.h"

namespace kgpu::explain {

// Sends a request and waits for the response. Errors: those of kube::Client::Send.
using Ask = std::function<StatusOr<boost::json::value>(kube::ApiRequest)>;

// The pod, its events, the nodes, the pods on nodes with GPUs, the namespace's rules and
// DRA's objects, reduced to what is judged. What we may not read is in `unreadable`; a
// missing pod is not among the items. Errors: the server is unreachable, or forbids reading
// the pod.
StatusOr<Dump> Gather(const Ask& ask, std::string_view space, std::string_view name);

// The claim, and what decides which devices it can have: classes, slices, nodes and all claims.
// Errors: as Gather, for the claim.
StatusOr<Dump> GatherClaim(const Ask& ask, std::string_view space, std::string_view name);

}  // namespace kgpu::explain
