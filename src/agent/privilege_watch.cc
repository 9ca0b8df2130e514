#include "src/agent/privilege_watch.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/platform/base/log.h"

namespace kgpu::agent {
namespace {

constexpr std::chrono::minutes kLookEvery{5};

}  // namespace

PrivilegeWatch::PrivilegeWatch(EventLoop& loop, const sys::Root& host, const AgentOptions& options,
                               Post post, std::function<void()> changed)
    : loop_(loop),
      host_(host),
      options_(options),
      post_(std::move(post)),
      changed_(std::move(changed)) {
  Look();
}

void PrivilegeWatch::Look() {
  timer_.Arm(kLookEvery, [this] { Look(); });
  const std::function<void(MissingPrivileges)> take =
      lifetime_.Bind([this](MissingPrivileges missing) { Take(std::move(missing)); });
  // A disk that is behind is asked again next time.
  (void)post_(
      [take, &host = host_, &options = options_]() -> sys::DiskWorker::Done {
        auto missing = FindMissingPrivileges(ReadPrivilegeFacts(host, options));
        return [take, missing = std::move(missing)] { take(missing); };
      },
      [](const Status&) {});
}

void PrivilegeWatch::Take(MissingPrivileges missing) {
  if (missing == missing_) {
    return;
  }
  for (const MissingPrivilege& one : missing) {
    if (std::ranges::find(missing_, one) == missing_.end()) {
      KGPU_LOG(kWarning, "privilege missing", {"what", one.what}, {"effect", one.effect},
               {"fix", one.fix});
    }
  }
  missing_ = std::move(missing);
  changed_();
}

}  // namespace kgpu::agent
