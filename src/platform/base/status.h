// Status and StatusOr as the whole code base uses them: the code tells the caller what to do, the
// text tells the human what is wrong and how to fix it (docs/architecture.md, "Errors").
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace kgpu {

using absl::Status;
using absl::StatusCode;
using absl::StatusOr;

inline Status OkStatus() {
  return absl::OkStatus();
}

// The text of a status as a std type (absl's own accessor is not one in Debian's build).
std::string_view Message(const Status& status);

// A status of any code; kOk becomes Internal, since it is no error.
Status MakeStatus(StatusCode code, std::string_view text);

// One constructor function per code that we use; each takes an fmt format and its arguments.
#define KGPU_STATUS_MAKER(name, code)                                                      \
  template <typename... Args>                                                              \
  Status name(fmt::format_string<Args...> format, Args&&... args) {                        \
    return MakeStatus(StatusCode::code, fmt::format(format, std::forward<Args>(args)...)); \
  }
KGPU_STATUS_MAKER(InvalidArgument, kInvalidArgument)        // the user's input is wrong
KGPU_STATUS_MAKER(NotFound, kNotFound)                      // the thing asked for is not there
KGPU_STATUS_MAKER(AlreadyExists, kAlreadyExists)            // somebody else has it already
KGPU_STATUS_MAKER(FailedPrecondition, kFailedPrecondition)  // the host must be changed first
KGPU_STATUS_MAKER(Unavailable, kUnavailable)                // try again
KGPU_STATUS_MAKER(DeadlineExceeded, kDeadlineExceeded)      // took longer than allowed
KGPU_STATUS_MAKER(PermissionDenied, kPermissionDenied)      // a privilege is missing
KGPU_STATUS_MAKER(ResourceExhausted, kResourceExhausted)  // disk, memory or descriptors are used up
KGPU_STATUS_MAKER(OutOfRange, kOutOfRange)                // past a limit of ours
KGPU_STATUS_MAKER(Unimplemented, kUnimplemented)          // driver or kernel too old
KGPU_STATUS_MAKER(Internal, kInternal)                    // our own bug
#undef KGPU_STATUS_MAKER

// The status of a failed system call: `error` is errno, `what` names the action and its object
// ("open /dev/nvidia0"). The only place that maps errno to a code. Source: errno(3).
Status ErrnoStatus(int error, std::string_view what);

// "<what>: <text of status>", same code; OK stays OK. Each layer adds only what it knows.
template <typename... Args>
Status Annotate(const Status& status, fmt::format_string<Args...> format, Args&&... args) {
  if (status.ok()) {
    return status;
  }
  return MakeStatus(
      status.code(),
      fmt::format("{}: {}", fmt::format(format, std::forward<Args>(args)...), Message(status)));
}

}  // namespace kgpu
