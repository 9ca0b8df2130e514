// Descriptions of the types, for `kubectl explain`, client-side checks and client-side apply.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <string_view>

#include "testing/apiserver/resource.h"

namespace kgpu::apiserver {

// Version 2 as the protocol buffer that kubectl requests (gnostic's openapi.v2.Document).
std::string OpenApiV2Proto(const ResourceTable& resources);
// Version 2 as JSON.
boost::json::object OpenApiV2(const ResourceTable& resources);
// Version 3: the index of documents, and the document of one group and version.
boost::json::object OpenApiV3Index(const ResourceTable& resources);
boost::json::object OpenApiV3(const ResourceTable& resources, std::string_view group,
                              std::string_view version);

}  // namespace kgpu::apiserver
