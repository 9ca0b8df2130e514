// What a server chooses for a Service: its address and its ports on the nodes.
#pragma once

#include <boost/json/fwd.hpp>

#include "src/platform/base/status.h"
#include "testing/apiserver/store.h"

namespace kgpu::apiserver {

// Fills in type, clusterIP, and node ports that are missing. Errors: a Failure of code 422: a node
// port is outside 30000-32767 or another Service has it.
Status PlaceService(const Store& store, boost::json::object& service);

}  // namespace kgpu::apiserver
