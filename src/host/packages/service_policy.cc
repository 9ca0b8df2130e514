#include "src/host/packages/service_policy.h"

#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::packages {
namespace {

constexpr std::string_view kText =
    "#!/bin/sh\n"
    "# Written by kgpu while it installs packages below this root; removed afterwards.\n"
    "exit 101\n";

constexpr std::string_view kPath = "/usr/sbin/policy-rc.d";

}  // namespace

Status RemoveOurPolicy(const sys::Root& host) {
  if (host.ReadFile(kPath).value_or("") != kText) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const std::string inside, host.Resolve(kPath));
  return unlink(host.At(inside).c_str()) == 0 || errno == ENOENT
             ? OkStatus()
             : ErrnoStatus(errno, fmt::format("remove {}", host.At(inside)));
}

StatusOr<std::unique_ptr<ServicePolicy>> ServicePolicy::Impose(const sys::Root& host) {
  ASSIGN_OR_RETURN(const std::string folder, host.Resolve("/usr/sbin"));
  const std::string inside = fmt::format("{}/policy-rc.d", folder);
  std::string path = host.At(inside);
  // A link that leads nowhere is somebody's, too.
  if (!host.LinkStat(inside).ok()) {
    RETURN_IF_ERROR(sys::WriteFileAtomically(path, kText, 0755));
    return std::make_unique<ServicePolicy>(std::move(path));
  }
  const bool is_ours = host.ReadFile(inside).value_or("") == kText;
  return std::make_unique<ServicePolicy>(is_ours ? std::move(path) : std::string());
}

ServicePolicy::~ServicePolicy() {
  if (!ours_.empty()) {
    unlink(ours_.c_str());  // what stays is known by its text to the next run
  }
}

StatusOr<std::unique_ptr<ServicePolicy>> QuietServices(const sys::Root& host) {
  if (host.path() == "/") {
    RETURN_IF_ERROR(RemoveOurPolicy(host));
    return std::make_unique<ServicePolicy>("");
  }
  return ServicePolicy::Impose(host);
}

}  // namespace kgpu::packages
