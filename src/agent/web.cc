#include "src/agent/web.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <string>

#include "src/agent/config_view.h"
#include "src/agent/loan_view.h"
#include "src/agent/status_view.h"
#include "src/node/report/devices_view.h"
#include "src/node/report/format.h"
#include "src/platform/commands/exit_code.h"

namespace kgpu::agent {
namespace {

bool IsRead(const http::Request& request) {
  return request.method == "GET" || request.method == "HEAD";
}

http::Response Ready(const AgentState& state) {
  std::string why;
  return IsReady(state, &why) ? http::TextResponse(200, "ok") : http::TextResponse(503, why);
}

bool IsProbePath(std::string_view path) {
  return path == "/healthz" || path == "/health" || path == "/readyz";
}

}  // namespace

StatusOr<report::OutputFormat> FormatOf(const http::Request& request) {
  return report::ParseOutputFormat(request.QueryValue("output").value_or("json"));
}

http::Response Shown(report::OutputFormat format, const std::function<boost::json::value()>& json,
                     const std::function<std::string()>& table, bool is_healthy) {
  http::Response response;
  switch (format) {
    case report::OutputFormat::kTable:
      response = http::TextResponse(200, table());
      break;
    case report::OutputFormat::kJson:
      response = http::JsonResponse(200, report::Render(json(), format));
      break;
    case report::OutputFormat::kYaml:
      response = http::TextResponse(200, report::Render(json(), format));
      break;
  }
  const auto code = is_healthy ? commands::ExitCode::kOk : commands::ExitCode::kUnhealthy;
  response.headers.Add(kExitCodeHeader, fmt::format("{}", static_cast<int>(code)));
  return response;
}

bool IsMetricsRead(const http::Request& request) {
  return request.path == "/metrics" && IsRead(request);
}

bool IsProbe(const http::Request& request) {
  return IsProbePath(request.path) && IsRead(request);
}

http::Response AnswerPublic(const http::Request& request, const AgentState& state) {
  if (!IsProbePath(request.path) && request.path != "/metrics") {
    return http::UnknownPath(request);
  }
  if (!IsRead(request)) {
    return http::WrongMethod(request, "GET, HEAD");
  }
  return request.path == "/readyz" ? Ready(state) : http::TextResponse(200, "ok");
}

http::Response AnswerLocal(const http::Request& request, const AgentState& state,
                           std::string_view version) {
  static constexpr std::array<std::string_view, 4> kPaths = {"/v1/status", "/v1/devices",
                                                             "/v1/node", "/v1/config"};
  if (std::ranges::find(kPaths, request.path) == kPaths.end()) {
    return AnswerPublic(request, state);
  }
  if (!IsRead(request)) {
    return http::WrongMethod(request, "GET, HEAD");
  }
  const auto format = FormatOf(request);
  if (!format.ok()) {
    return http::TextResponse(400, Message(format.status()));
  }
  if (request.path == "/v1/status") {
    std::string why;
    return Shown(
        *format, [&] { return StatusJson(state, version); },
        [&] { return StatusTable(state, version); }, IsReady(state, &why));
  }
  if (request.path == "/v1/node") {
    return Shown(
        *format, [&] { return node::NodeJson(state.node); },
        [&] { return node::NodeTable(state.node); }, node::IsHealthy(state.node));
  }
  if (request.path == "/v1/config") {
    return Shown(
        *format, [&] { return ConfigJson(state); }, [&] { return ConfigTable(state); },
        state.config_problem.empty());
  }
  const report::Holders holders = HoldersOf(state.loans);
  return Shown(
      *format, [&] { return report::DevicesJson(*state.snapshot, holders); },
      [&] { return report::DevicesTable(*state.snapshot, holders); },
      report::IsAllHealthy(*state.snapshot));
}

}  // namespace kgpu::agent
