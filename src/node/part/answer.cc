#include "src/node/part/answer.h"

#include <fmt/format.h>

#include <boost/json/value.hpp>

#include "src/platform/commands/exit_code.h"

namespace kgpu::node {

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

bool IsRead(const http::Request& request) {
  return request.method == "GET" || request.method == "HEAD";
}

bool IsMetricsRead(const http::Request& request) {
  return request.path == "/metrics" && IsRead(request);
}

bool IsLiveRead(const http::Request& request) {
  return (request.path == "/live" || request.path.starts_with("/live/")) && IsRead(request);
}

bool IsProbePath(std::string_view path) {
  return path == "/healthz" || path == "/health" || path == "/readyz";
}

bool IsProbe(const http::Request& request) {
  return IsProbePath(request.path) && IsRead(request);
}

}  // namespace kgpu::node
