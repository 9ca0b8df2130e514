// Events have two forms, core/v1's and events.k8s.io/v1's, of one stored object.
#pragma once

#include <boost/json/fwd.hpp>

#include "testing/apiserver/resource.h"

namespace kgpu::apiserver {

// Converts between the stored form and that of `resource`; the same for resources with one form.
boost::json::object ToExternal(const Resource& resource, const boost::json::object& stored);
boost::json::object ToStored(const Resource& resource, const boost::json::object& external);

}  // namespace kgpu::apiserver
