// The requests of the queue's REST API, and its answers as JSON. docs/reference/functions.md lists
// them.
#pragma once

#include <boost/json/fwd.hpp>

#include <map>
#include <string>
#include <string_view>

#include "src/functions/queue/call_index.h"
#include "src/functions/queue/call_record.h"
#include "src/functions/queue/call_table.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/message.h"

namespace kgpu::functions {

std::string_view NameOf(CallState state);
// "waiting", "running" or "dead". Errors: InvalidArgument.
StatusOr<CallState> ParseCallState(std::string_view text);

// Of "?function=&state=". Errors: InvalidArgument.
StatusOr<CallSelection> ParseListRequest(const http::Request& request);

struct ChangeRequest {
  CallSelection selection{};
  bool is_dry_run = false;
};
// {"function"?, "ids"?, "state"?, "dryRun"?}; without a state, dead calls are meant. Errors:
// InvalidArgument: no such key, more than 1,000 ids, state running.
StatusOr<ChangeRequest> ParseChangeRequest(std::string_view text);

// {"id", "function", "state", "method", "path", "bytes", "arrived", …}.
boost::json::object CallView(const CallRecord& call, CallState state);
// [{"function", "waiting", "running", "dead", "retries", "oldestSeconds"}].
boost::json::array CountsView(const std::map<std::string, FunctionCounts>& counts, WallTime now);

}  // namespace kgpu::functions
