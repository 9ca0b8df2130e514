// The agent's HTTP responses: pure functions of its state.
#pragma once

#include <functional>
#include <string_view>

#include "src/agent/state.h"
#include "src/node/part/status_page.h"
#include "src/platform/net/http/message.h"

namespace kgpu::agent {

// On the network: / (the page), /healthz (also /health, like DCGM's exporter), /readyz; 405 for the
// rest of /metrics and /live.
http::Response AnswerPublic(const http::Request& request, const AgentState& state);
// On agent.sock: those, and /v1/status, /v1/devices, /v1/node and /v1/config with ?output=table,
// json or yaml. `parts` returns what the parts add to a page, if it is asked for.
http::Response AnswerLocal(const http::Request& request, const AgentState& state,
                           const std::function<node::StatusPage()>& parts,
                           std::string_view version);

}  // namespace kgpu::agent
