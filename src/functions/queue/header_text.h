// HTTP headers as one text, for a column of a database: "Name: value" lines.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/net/http/message.h"

namespace kgpu::functions {

// Errors: InvalidArgument (a name is empty or has a colon, or a name or value has a line break).
StatusOr<std::string> EncodeHeaders(const http::Headers& headers);
// Reads what EncodeHeaders wrote. Errors: InvalidArgument (a line without a name).
StatusOr<http::Headers> DecodeHeaders(std::string_view text);

}  // namespace kgpu::functions
