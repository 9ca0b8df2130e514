#include "src/host/packages/calls.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/host/packages/dkms_log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::packages {
namespace {

constexpr size_t kOutputLimit = size_t{64} << 20;
constexpr size_t kTailLines = 6;
constexpr size_t kTailLimit = 800;
constexpr int kZypperLocked = 7;  // zypper(8), "EXIT CODES"
constexpr int kDnfLocked = 200;   // dnf(8), "Return values"

bool TellsOfLock(const sys::RunResult& result) {
  constexpr std::array<std::string_view, 7> kTells = {"Could not get lock",
                                                      "Unable to acquire the dpkg frontend lock",
                                                      "Unable to lock",
                                                      "was locked by another process",
                                                      "can't create transaction",
                                                      "Failed to obtain rpm transaction lock",
                                                      "System management is locked"};
  return std::ranges::any_of(kTells, [&result](std::string_view words) {
    return result.err.find(words) != std::string::npos ||
           result.out.find(words) != std::string::npos;
  });
}

}  // namespace

Status Calls::CheckRoot() const {
  if (host_.path() == "/" || host_.Exists("proc/version")) {
    return OkStatus();
  }
  return FailedPrecondition(
      "{0}/proc: not mounted, and packages can not be installed without it: mount -t proc proc "
      "{0}/proc; mount -t sysfs sysfs {0}/sys; mount --bind /dev {0}/dev",
      host_.path());
}

StatusOr<sys::RunResult> Calls::Run(std::vector<std::string> argv,
                                    std::chrono::seconds deadline) const {
  sys::RunRequest request;
  request.argv = std::move(argv);
  request.environment.insert(request.environment.end(), environment_.begin(), environment_.end());
  request.root = host_.path();
  request.deadline = deadline;
  request.output_limit = kOutputLimit;
  return runner_.Run(request);
}

StatusOr<std::string> Calls::Query(std::vector<std::string> argv) const {
  const std::string program = argv[0];
  ASSIGN_OR_RETURN(sys::RunResult result, Run(std::move(argv), kQueryDeadline));
  if (!result.IsSuccess()) {
    return FailureOf(program, "list what is installed", result);
  }
  return std::move(result.out);
}

Status FailureOf(std::string_view program, std::string_view deed, const sys::RunResult& result) {
  const std::string how = result.exit.signal
                              ? fmt::format("signal {}", *result.exit.signal)
                              : fmt::format("exit code {}", result.exit.code.value_or(-1));
  const std::string tail = TailOf(fmt::format("{}\n{}", result.out, result.err));
  const std::string text =
      fmt::format("{}: {}: {}{}{}", program, deed, how, tail.empty() ? "" : ": ", tail);
  const bool is_locked = program.ends_with("zypper") ? result.exit.code == kZypperLocked
                                                     : result.exit.code == kDnfLocked;
  if (is_locked || TellsOfLock(result)) {
    return Unavailable("{}: another package manager is at work: try again when it is done", text);
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
    // Of a line that was drawn several times the last state.
    const std::string_view trimmed = Trim(line);
    const std::string_view shown = trimmed.substr(trimmed.rfind('\r') + 1);
    if (!shown.empty()) {
      lines.emplace_back(shown);
    }
  }
  if (lines.size() > kTailLines) {
    lines.erase(lines.begin(), lines.end() - kTailLines);
  }
  return Printable(Join(lines, "; "), kTailLimit);
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
    const bool is_well = !name.empty() && !name.starts_with('-') && !name.ends_with('-') &&
                         name.find_first_of(" \t\n\r*?[]\\") == std::string::npos;
    if (!is_well) {
      return InvalidArgument("\"{}\" is no name of a package", Printable(name, 80));
    }
  }
  return OkStatus();
}

}  // namespace kgpu::packages
