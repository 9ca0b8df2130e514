#include "src/agent/web.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <string>

#include "src/agent/config_view.h"
#include "src/agent/status_view.h"
#include "src/node/live/page.h"
#include "src/node/part/answer.h"
#include "src/node/report/devices_view.h"

namespace kgpu::agent {
namespace {

http::Response Ready(const AgentState& state) {
  std::string why;
  return IsReady(state, &why) ? http::TextResponse(200, "ok") : http::TextResponse(503, why);
}

}  // namespace

http::Response AnswerPublic(const http::Request& request, const AgentState& state) {
  if (auto page = live::AnswerPage(request)) {
    return *std::move(page);
  }
  const bool is_ours = node::IsProbePath(request.path) || request.path == "/metrics" ||
                       request.path == "/live" || request.path == "/live/events" ||
                       request.path == "/";
  if (!is_ours) {
    return http::UnknownPath(request);
  }
  if (!node::IsRead(request)) {
    return http::WrongMethod(request, "GET, HEAD");
  }
  return request.path == "/readyz" ? Ready(state) : http::TextResponse(200, "ok");
}

http::Response AnswerLocal(const http::Request& request, const AgentState& state,
                           const std::function<node::StatusPage()>& parts,
                           std::string_view version) {
  static constexpr std::array<std::string_view, 4> kPaths = {"/v1/status", "/v1/devices",
                                                             "/v1/node", "/v1/config"};
  if (std::ranges::find(kPaths, request.path) == kPaths.end()) {
    return AnswerPublic(request, state);
  }
  if (!node::IsRead(request)) {
    return http::WrongMethod(request, "GET, HEAD");
  }
  const auto format = node::FormatOf(request);
  if (!format.ok()) {
    return http::TextResponse(400, Message(format.status()));
  }
  if (request.path == "/v1/status") {
    std::string why;
    return node::Shown(
        *format, [&] { return StatusJson(state, parts(), version); },
        [&] { return StatusTable(state, parts(), version); }, IsReady(state, &why));
  }
  if (request.path == "/v1/node") {
    return node::Shown(
        *format, [&] { return node::NodeJson(state.node); },
        [&] { return node::NodeTable(state.node); }, node::IsHealthy(state.node));
  }
  if (request.path == "/v1/config") {
    return node::Shown(
        *format, [&] { return ConfigJson(state); }, [&] { return ConfigTable(state); },
        state.config_problem.empty());
  }
  const report::Holders holders = parts().holders;
  return node::Shown(
      *format, [&] { return report::DevicesJson(*state.snapshot, holders); },
      [&] { return report::DevicesTable(*state.snapshot, holders); },
      report::IsAllHealthy(*state.snapshot));
}

}  // namespace kgpu::agent
