#include "src/kube/api/exec_plugin.h"

#include <unistd.h>

#include <string_view>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/run.h"

namespace kgpu::kube {
namespace {

constexpr size_t kMaxOutput = size_t{1} << 20;

std::string_view Lookup(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return std::string_view(entry).substr(name.size() + 1);
    }
  }
  return "";
}

// As execvp(3) would.
StatusOr<std::string> FindProgram(const ExecRequest& request) {
  const std::string& command = request.spec.command;
  if (command.find('/') != std::string::npos) {
    return command;
  }
  for (const std::string_view folder : Split(Lookup(request.environment, "PATH"), ':')) {
    // An empty entry would be the current folder, which is anybody's.
    std::string path = fmt::format("{}/{}", folder, command);
    if (!folder.empty() && access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return NotFound("{}: not found in PATH", Printable(command));
}

std::vector<std::string> EnvironmentOf(const ExecRequest& request) {
  std::vector<std::pair<std::string, std::string>> ours = request.spec.environment;
  ours.emplace_back("KUBERNETES_EXEC_INFO", request.info);
  std::vector<std::string> environment;
  for (const std::string& entry : request.environment) {
    bool is_replaced = false;
    for (const auto& [name, value] : ours) {
      is_replaced = is_replaced || entry.starts_with(name + "=");
    }
    if (!is_replaced) {
      environment.push_back(entry);
    }
  }
  for (const auto& [name, value] : ours) {
    environment.push_back(fmt::format("{}={}", name, value));
  }
  return environment;
}

}  // namespace

std::string ExecRun::Name() const {
  return fmt::format("exec plugin {}", Printable(request_.spec.command));
}

Status ExecRun::Spawn() {
  if (request_.spec.needs_terminal) {
    return FailedPrecondition("{}: its interactiveMode is Always, but there is no terminal",
                              Name());
  }
  ASSIGN_OR_RETURN(const std::string program, FindProgram(request_));
  // The plugin may ask at the terminal, which is for our process group.
  sys::ChildRunRequest run{.argv = {program},
                           .environment = EnvironmentOf(request_),
                           .deadline = request_.deadline,
                           .output_limit = kMaxOutput,
                           .over_limit = sys::OverLimit::kKill,
                           .kills = sys::KillScope::kProgram,
                           .errors = sys::ErrorsTo::kOurs};
  run.argv.insert(run.argv.end(), request_.spec.args.begin(), request_.spec.args.end());
  auto child = sys::ChildRun::Start(loop_, std::move(run), [this](const sys::ChildEnd& end) {
    const Done done = done_;
    done(CredentialOf(end));
  });
  RETURN_IF_ERROR(Annotate(child.status(), "{}", Name()));
  child_ = *std::move(child);
  return OkStatus();
}

StatusOr<ExecCredential> ExecRun::CredentialOf(const sys::ChildEnd& end) const {
  if (end.status.code() == StatusCode::kOutOfRange) {
    return FailedPrecondition("{}: printed more than {} bytes", Name(), kMaxOutput);
  }
  if (!end.status.ok()) {
    return DeadlineExceeded("{}: did not finish within {} s", Name(),
                            std::chrono::ceil<std::chrono::seconds>(request_.deadline).count());
  }
  if (!end.result.IsSuccess()) {
    return FailedPrecondition("{}: failed with {}: see its standard error", Name(),
                              sys::Describe(end.result.exit));
  }
  StatusOr<ExecCredential> credential =
      ParseExecCredential(end.result.out, request_.spec.api_version);
  if (!credential.ok()) {
    return FailedPrecondition("{}: {}", Name(), Message(credential.status()));
  }
  return credential;
}

std::unique_ptr<ExecRun> ExecRun::Start(EventLoop& loop, ExecRequest request, Done done) {
  std::unique_ptr<ExecRun> run(new ExecRun(loop, std::move(request), std::move(done)));
  Status status = run->Spawn();
  const ExecSpec& spec = run->request_.spec;
  if (status.code() == StatusCode::kNotFound && !spec.install_hint.empty()) {
    status = NotFound("{}: {}", Message(status), Printable(spec.install_hint, 1000));
  }
  if (!status.ok()) {
    run->failure_.Arm({}, [done = run->done_, status] { done(status); });
  }
  return run;
}

}  // namespace kgpu::kube
