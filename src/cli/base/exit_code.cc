#include "src/cli/base/exit_code.h"

#include <unistd.h>

#include <array>

namespace kgpu::cli {

ExitCode ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return ExitCode::kOk;
    case StatusCode::kInvalidArgument:
    case StatusCode::kOutOfRange:
      return ExitCode::kUsage;
    case StatusCode::kNotFound:
      return ExitCode::kNotFound;
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kResourceExhausted:
      return ExitCode::kUnavailable;
    case StatusCode::kPermissionDenied:
    case StatusCode::kUnauthenticated:
      return ExitCode::kPermission;
    case StatusCode::kFailedPrecondition:
      return ExitCode::kPrecondition;
    default:
      return ExitCode::kFailed;
  }
}

StatusOr<ExitCode> OkOr(const Status& status) {
  return status.ok() ? StatusOr<ExitCode>(ExitCode::kOk) : status;
}

ExitCode ExitCodeOf(report::Severity worst) {
  constexpr std::array kCodes = {ExitCode::kOk, ExitCode::kWarned, ExitCode::kUnhealthy};
  return kCodes[static_cast<size_t>(worst)];
}

std::string ErrorText(const Status& status, bool is_root) {
  std::string text(Message(status));
  // The cluster's refusals end otherwise: root would not help there.
  const bool is_kernels =
      text.ends_with("Permission denied") || text.ends_with("Operation not permitted");
  if (status.code() == StatusCode::kPermissionDenied && is_kernels && !is_root) {
    text += ": run it as root, or as a user with this permission";
  }
  return text;
}

StatusOr<ExitCode> ForRoot(StatusOr<ExitCode> result) {
  if (result.status().code() != StatusCode::kPermissionDenied || geteuid() == 0) {
    return result;
  }
  return PermissionDenied("{}: run it as root", Message(result.status()));
}

}  // namespace kgpu::cli
