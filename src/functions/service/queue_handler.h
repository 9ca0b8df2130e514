// The queue's part of the service's REST API, and what a caller hears whose asynchronous call was
// not accepted.
#pragma once

#include <string>

#include "src/functions/queue/call_queue.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/server.h"

namespace kgpu::functions {

// GET /v1/queue, POST /v1/queue/retry and /v1/queue/purge; 404 for other paths. `queue` must
// outlive the response.
void HandleQueue(CallQueue& queue, const http::Request& request, const http::Responder& responder);

// `status` as CallQueue::Put gives it.
void RefuseAsync(const http::Responder& responder, const std::string& call_id,
                 const Status& status);

}  // namespace kgpu::functions
