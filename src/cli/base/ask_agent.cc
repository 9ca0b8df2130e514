#include "src/cli/base/ask_agent.h"

#include <boost/json/value.hpp>

#include <array>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include "src/cli/base/output.h"
#include "src/cli/base/progress.h"
#include "src/kube/api/json.h"
#include "src/node/part/answer.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_reader.h"
#include "src/platform/net/http/client.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::cli {
namespace {

std::string_view NameOf(report::OutputFormat format) {
  static constexpr std::array<std::string_view, 3> kWords = {"table", "json", "yaml"};
  return kWords.at(static_cast<size_t>(format));
}

constexpr std::string_view kNoAgent =
    "no agent is running: start it with `kgpu agent`, or set its --run-dir";

Status Refusal(const std::string& socket, const http::Response& response) {
  const std::string text(Trim(Printable(Trim(response.body), 400)));
  switch (response.code) {
    case 400:
      return InvalidArgument("{}", text);
    case 404:
      return NotFound("{}", text);
    case 409:
      return FailedPrecondition("{}", text);
    default:
      return Unavailable("{}: the agent answered {}: {}", socket, response.code, text);
  }
}

Status NoPermission(const std::string& socket) {
  return PermissionDenied(
      "{}: permission denied: run this command as root, or as a member of the socket's group",
      socket);
}

// What a user can do about an agent that was not reached.
Status Unreached(const std::string& socket, const Status& status) {
  if (status.code() == StatusCode::kPermissionDenied) {
    return NoPermission(socket);
  }
  const bool is_running = sys::IsListening(socket).value_or(false);
  return is_running ? Annotate(status, "the agent does not answer")
                    : Annotate(status, "{}", kNoAgent);
}

StatusOr<ExitCode> PrintAnswer(const std::string& run_dir, const http::Request& request) {
  const std::string socket = AgentSocket(run_dir);
  auto progress = std::make_unique<Progress>("asking the agent");
  ASSIGN_OR_RETURN(const http::Response response, FetchFromAgent(run_dir, request));
  progress.reset();
  if (response.code != 200) {
    return Refusal(socket, response);
  }
  RETURN_IF_ERROR(PrintOut(response.body));
  const auto code = ParseUint(response.headers.Find(node::kExitCodeHeader).value_or("0"));
  return code == 0U ? ExitCode::kOk : ExitCode::kUnhealthy;
}

}  // namespace

std::string AgentSocket(const std::string& run_dir) {
  return run_dir + "/agent.sock";
}

StatusOr<std::string> BodyFromAgent(const std::string& run_dir, StatusOr<http::Response> response) {
  const std::string socket = AgentSocket(run_dir);
  if (!response.ok()) {
    return Unreached(socket, response.status());
  }
  if (response->code != 200) {
    return Refusal(socket, *response);
  }
  return std::move(response->body);
}

StatusOr<http::Response> FetchFromAgent(const std::string& run_dir, const http::Request& request) {
  const std::string socket = AgentSocket(run_dir);
  StatusOr<http::Response> response = http::Fetch(socket, request);
  return response.ok() ? std::move(response) : Unreached(socket, response.status());
}

StatusOr<bool> IsAgentRunning(const std::string& run_dir) {
  const std::string socket = AgentSocket(run_dir);
  const StatusOr<bool> is_listening = sys::IsListening(socket);
  return is_listening.status().code() == StatusCode::kPermissionDenied ? NoPermission(socket)
                                                                       : is_listening;
}

StatusOr<ExitCode> PrintFromAgent(const std::string& run_dir, const std::string& path,
                                  report::OutputFormat format) {
  http::Request request;
  const bool has_query = path.find('?') != std::string::npos;
  request.target = fmt::format("{}{}output={}", path, has_query ? '&' : '?', NameOf(format));
  return PrintAnswer(run_dir, request);
}

StatusOr<std::string> ReadFromAgent(const std::string& run_dir, const std::string& path) {
  http::Request request;
  request.target = fmt::format("{}?output=json", path);
  return BodyFromAgent(run_dir, http::Fetch(AgentSocket(run_dir), request));
}

std::string NodeOfAgent(const std::string& run_dir) {
  const StatusOr<std::string> text = ReadFromAgent(run_dir, "/v1/node");
  if (!text.ok()) {
    return "";
  }
  const StatusOr<boost::json::value> report = doc::ParseJson(*text, "the agent's answer", {});
  return report.ok() ? std::string(kube::TextField(*report, {"node"})) : "";
}

StatusOr<ExitCode> PostToAgent(const std::string& run_dir, const std::string& path) {
  http::Request request;
  request.method = "POST";
  request.target = path;
  return PrintAnswer(run_dir, request);
}

bool IsNoAgent(const Status& status) {
  return Message(status).starts_with(kNoAgent);
}

}  // namespace kgpu::cli
