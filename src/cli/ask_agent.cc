#include "src/cli/ask_agent.h"

#include <CLI/CLI.hpp>
#include <iterator>
#include <string_view>

#include "src/agent/web.h"
#include "src/cli/output.h"
#include "src/platform/base/ascii.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/http/client.h"

namespace kgpu::cli {
namespace {

std::string_view NameOf(report::OutputFormat format) {
  switch (format) {
    case report::OutputFormat::kTable:
      return "table";
    case report::OutputFormat::kJson:
      return "json";
    case report::OutputFormat::kYaml:
      return "yaml";
  }
  return "json";
}

constexpr std::string_view kNoAgent =
    "no agent answers (start one with `kgpu agent`, or name its --run-dir)";

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
      return Unavailable("{}: the agent answers {}: {}", socket, response.code, text);
  }
}

StatusOr<ExitCode> PrintAnswer(const std::string& run_dir, const http::Request& request) {
  const std::string socket = run_dir + "/agent.sock";
  const StatusOr<http::Response> response = http::Fetch(socket, request);
  if (!response.ok()) {
    return Annotate(response.status(), "{}", kNoAgent);
  }
  if (response->code != 200) {
    return Refusal(socket, *response);
  }
  RETURN_IF_ERROR(PrintOut(response->body));
  const auto code = ParseUint(response->headers.Find(agent::kExitCodeHeader).value_or("0"));
  return code == 0U ? ExitCode::kOk : ExitCode::kUnhealthy;
}

}  // namespace

void AddRunDirOption(CLI::App& verb, std::string& run_dir) {
  verb.add_option("--run-dir", run_dir, "Folder of the agent's socket")
      ->envname("KGPU_RUN_DIR")
      ->type_name("DIR")
      ->capture_default_str();
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
  const std::string socket = run_dir + "/agent.sock";
  StatusOr<http::Response> response = http::Fetch(socket, request);
  if (!response.ok()) {
    return Annotate(response.status(), "{}", kNoAgent);
  }
  if (response->code != 200) {
    return Refusal(socket, *response);
  }
  return std::move(response->body);
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

std::string EscapeQuery(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (IsAlphanumeric(c) || c == '-' || c == '.' || c == '_') {
      escaped += c;
    } else {
      fmt::format_to(std::back_inserter(escaped), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

}  // namespace kgpu::cli
