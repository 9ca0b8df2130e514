// How the service answers: JSON, and errors as OpenFx has them.
#pragma once

#include <boost/json/fwd.hpp>

#include "src/platform/base/status.h"
#include "src/platform/net/http/server.h"

namespace kgpu::functions {

void SendJson(const http::Responder& responder, int code, const boost::json::value& value);
void SendError(const http::Responder& responder, const Status& status);

// GET, or HEAD.
bool IsGet(const http::Request& request);

}  // namespace kgpu::functions
