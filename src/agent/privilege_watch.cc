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
      changed_(std::move(changed)),
      self_(std::make_shared<PrivilegeWatch*>(this)) {
  Look();
}

PrivilegeWatch::~PrivilegeWatch() {
  loop_.CancelTimer(timer_);
  *self_ = nullptr;
}

void PrivilegeWatch::Look() {
  loop_.CancelTimer(timer_);
  timer_ = loop_.After(kLookEvery, [this] { Look(); });
  // A disk that is behind is asked again next time.
  (void)post_(
      [self = self_, &host = host_, &options = options_]() -> DiskWorker::Done {
        auto missing = FindMissingPrivileges(ReadPrivilegeFacts(host, options));
        return [self, missing = std::move(missing)] {
          if (*self != nullptr) {
            (*self)->Take(missing);
          }
        };
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
