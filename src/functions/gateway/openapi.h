// The gateway's OpenAPI document, made from the table of routes. Source: OpenAPI 3.0.3.
#pragma once

#include <boost/json/fwd.hpp>

#include <string_view>

namespace kgpu::gateway {

// `needs_tokens`: whether requests must have a token.
boost::json::object OpenApiDocument(std::string_view version, bool needs_tokens);

}  // namespace kgpu::gateway
