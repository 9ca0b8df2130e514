#include "testing/kubelet/go_text.h"

#include <array>

namespace kgpu::kubelet {
namespace {

constexpr std::array<const char*, 17> kNames = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

}  // namespace

std::string GoText(const Status& status) {
  const auto code = static_cast<size_t>(status.code());
  return fmt::format("rpc error: code = {} desc = {}",
                     code < kNames.size() ? kNames.at(code) : "Unknown", Message(status));
}

}  // namespace kgpu::kubelet
