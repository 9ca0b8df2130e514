#include "src/cli/ask_agent.h"

#include <CLI/CLI.hpp>
#include <string_view>

#include "src/agent/web.h"
#include "src/base/status_macros.h"
#include "src/base/strings.h"
#include "src/cli/output.h"
#include "src/http/client.h"

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
  request.target = fmt::format("{}?output={}", path, NameOf(format));
  const std::string socket = run_dir + "/agent.sock";
  const StatusOr<http::Response> response = http::Fetch(socket, request);
  if (!response.ok()) {
    return Annotate(response.status(),
                    "no agent answers (start one with `kgpu agent`, or name its --run-dir)");
  }
  if (response->code != 200) {
    return Unavailable("{}: the agent answers {}: {}", socket, response->code,
                       Printable(response->body, 200));
  }
  RETURN_IF_ERROR(PrintOut(response->body));
  const auto code = ParseUint(response->headers.Find(agent::kExitCodeHeader).value_or("0"));
  return code == 0U ? ExitCode::kOk : ExitCode::kUnhealthy;
}

}  // namespace kgpu::cli
