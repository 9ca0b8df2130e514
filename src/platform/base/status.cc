#include "src/platform/base/status.h"

#include <absl/strings/string_view.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace kgpu {
namespace {

StatusCode CodeOfErrno(int error) {
  switch (error) {
    case EINVAL:
    case ENAMETOOLONG:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
      return StatusCode::kInvalidArgument;
    case ENOENT:
    case ESRCH:
    case ENXIO:
    case ENODEV:
      return StatusCode::kNotFound;
    case EEXIST:
      return StatusCode::kAlreadyExists;
    case EPERM:
    case EACCES:
      return StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EFBIG:
      return StatusCode::kResourceExhausted;
    case EAGAIN:
    case EBUSY:
    case EINTR:
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case ENOTCONN:
    case EIO:
      return StatusCode::kUnavailable;
    case ETIMEDOUT:
      return StatusCode::kDeadlineExceeded;
    case ENOSYS:
    case EOPNOTSUPP:
      return StatusCode::kUnimplemented;
    case EROFS:
    case ENOTEMPTY:
    case EXDEV:
      return StatusCode::kFailedPrecondition;
    default:
      return StatusCode::kInternal;
  }
}

}  // namespace

std::string_view Message(const Status& status) {
  const absl::string_view text = status.message();
  return {text.data(), text.size()};
}

Status MakeStatus(StatusCode code, std::string_view text) {
  if (code == StatusCode::kOk) {
    code = StatusCode::kInternal;
  }
  return {code, absl::string_view(text.data(), text.size())};
}

Status ErrnoStatus(int error, std::string_view what) {
  // strerror_r, GNU flavour: thread-safe, may return a static string instead of the buffer.
  std::array<char, 128> buffer{};
  const char* text = strerror_r(error, buffer.data(), buffer.size());
  return MakeStatus(CodeOfErrno(error), fmt::format("{}: {}", what, text));
}

}  // namespace kgpu
