// Events have two shapes, core/v1's and events.k8s.io/v1's, of one stored object.
#pragma once

#include <boost/json/fwd.hpp>

#include "testing/apiserver/resource.h"

namespace kgpu::apiserver {

// Between what is kept and what `resource` shows; the same object for resources with one shape.
boost::json::object ToExternal(const Resource& resource, const boost::json::object& stored);
boost::json::object ToStored(const Resource& resource, const boost::json::object& external);

}  // namespace kgpu::apiserver
