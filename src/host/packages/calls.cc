#include "src/host/packages/calls.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "src/host/packages/dkms_log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::packages {
namespace {

constexpr size_t kOutputLimit = size_t{64} << 20;
constexpr size_t kTailLines = 15;
constexpr size_t kLongestLine = 1000;
constexpr int kZypperLocked = 7;  // zypper(8), "EXIT CODES"
constexpr int kDnfLocked = 200;   // dnf(8), "Return values"

bool MentionsLock(const sys::RunResult& result) {
  constexpr std::array<std::string_view, 7> kReports = {"Could not get lock",
                                                        "Unable to acquire the dpkg frontend lock",
                                                        "Unable to lock",
                                                        "was locked by another process",
                                                        "can't create transaction",
                                                        "Failed to obtain rpm transaction lock",
                                                        "System management is locked"};
  return std::ranges::any_of(kReports, [&result](std::string_view words) {
    return result.err.find(words) != std::string::npos ||
           result.out.find(words) != std::string::npos;
  });
}

}  // namespace

std::optional<RootProblem> FindRootProblem(const sys::Root& host) {
  const std::string& root = host.path();
  std::vector<std::string> missing;
  std::vector<std::string> commands;
  if (root != "/" && !host.Exists("proc/version")) {
    missing.push_back(fmt::format("{}/proc is not mounted", root));
    commands = {fmt::format("mount -t proc proc {}/proc", root),
                fmt::format("mount -t sysfs sysfs {}/sys", root)};
  }
  if (root != "/" && !host.Exists("dev/null")) {
    missing.push_back(fmt::format("{}/dev has no devices", root));
    commands.push_back(fmt::format("mount --bind /dev {}/dev", root));
  }
  if (missing.empty()) {
    return std::nullopt;
  }
  return RootProblem{fmt::format("cannot install packages there: {}", Join(missing, ", and ")),
                     std::move(commands)};
}

Status Calls::CheckRoot() const {
  const std::optional<RootProblem> problem = FindRootProblem(host_);
  return problem ? FailedPrecondition("{}: {}", problem->message, Join(problem->commands, "; "))
                 : OkStatus();
}

StatusOr<sys::RunResult> Calls::Run(std::vector<std::string> argv,
                                    std::chrono::seconds deadline) const {
  sys::RunRequest request = sys::RequestOf(host_, std::move(argv), deadline);
  request.environment = Concat(request.environment, environment_);
  request.output_limit = kOutputLimit;
  return runner_.Run(request);
}

StatusOr<std::string> Calls::Do(std::string_view action, std::vector<std::string> argv,
                                std::chrono::seconds deadline) const {
  const std::string program = argv[0];
  ASSIGN_OR_RETURN(sys::RunResult result, Run(std::move(argv), deadline));
  if (!result.IsSuccess()) {
    return FailureOf(program, action, result);
  }
  return std::move(result.out);
}

Status FailureOf(std::string_view program, std::string_view action, const sys::RunResult& result) {
  const std::string tail = TailOf(fmt::format("{}\n{}", result.out, result.err));
  const std::string text = fmt::format("{}: {}: {}{}{}", program, action,
                                       sys::Describe(result.exit), tail.empty() ? "" : ": ", tail);
  const bool is_locked = program.ends_with("zypper") ? result.exit.code == kZypperLocked
                                                     : result.exit.code == kDnfLocked;
  if (is_locked || MentionsLock(result)) {
    return Unavailable("{}: another package manager is running: try again when it is done", text);
  }
  return FailedPrecondition("{}", text);
}

bool IsZypperContent(const sys::RunResult& result) {
  const int code = result.exit.code.value_or(-1);
  return code == 0 || code == 102 || code == 103 || code == 106;
}

std::string TailOf(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : Split(text, '\n')) {
    // The last state of a line that was redrawn several times.
    const std::string_view trimmed = Trim(line);
    const std::string_view shown = trimmed.substr(trimmed.rfind('\r') + 1);
    if (!shown.empty()) {
      lines.push_back(Printable(shown, kLongestLine));
    }
  }
  if (lines.size() > kTailLines) {
    lines.erase(lines.begin(), lines.end() - kTailLines);
  }
  return Join(lines, "; ");
}

Status InstallFailure(const sys::Root& host, std::string_view program,
                      const std::vector<std::string>& names, const sys::RunResult& result) {
  const Status failure = FailureOf(program, fmt::format("install {}", Join(names, " ")), result);
  const std::string errors =
      CompilerErrors(host, DkmsLogIn(fmt::format("{}\n{}", result.out, result.err)));
  return errors.empty() ? failure
                        : MakeStatus(failure.code(), fmt::format("{}; the compiler says: {}",
                                                                 Message(failure), errors));
}

Status CheckNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    // apt takes a last minus for a removal.
    const bool is_healthy = !name.empty() && !name.starts_with('-') && !name.ends_with('-') &&
                            name.find_first_of(" \t\n\r*?[]\\") == std::string::npos;
    if (!is_healthy) {
      return InvalidArgument("\"{}\" must be the name of a package", Printable(name, 80));
    }
  }
  return OkStatus();
}

}  // namespace kgpu::packages
