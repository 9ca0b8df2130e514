#include "src/node/inventory/triggers.h"

#include <array>
#include <utility>

#include "src/node/inventory/quick_look.h"
#include "src/platform/base/log.h"

namespace kgpu::inventory {
namespace {

using std::chrono::milliseconds;

// Device nodes come before the driver knows the GPU; MIG events before the files of /proc.
constexpr std::array kLooksAfterChange = {milliseconds(2), milliseconds(20), milliseconds(80),
                                          milliseconds(300), milliseconds(1000)};

}  // namespace

Triggers::Triggers(EventLoop& loop, const sys::Root& host, const TriggerOptions& options,
                   std::function<void()> changed, std::function<void()> poll)
    : loop_(loop),
      host_(host),
      options_(options),
      changed_(std::move(changed)),
      poll_(std::move(poll)),
      quick_look_(QuickLook(host)) {
  auto watch = DevWatch::Create(loop_, host_, [this] { LookRepeatedly(); });
  if (watch.ok()) {
    dev_watch_ = *std::move(watch);
  } else {
    KGPU_LOG(kWarning, "device nodes are not watched", {"reason", Message(watch.status())},
             {"effect", "changes are seen by polling only"});
  }
  ArmQuickPoll();
  ArmSlowPoll();
}

Triggers::~Triggers() {
  loop_.CancelTimer(quick_timer_);
  loop_.CancelTimer(slow_timer_);
  for (const TimerId timer : change_timers_) {
    loop_.CancelTimer(timer);
  }
}

void Triggers::OnFullLook() {
  quick_look_ = QuickLook(host_);
}

void Triggers::LookRepeatedly() {
  for (const TimerId timer : std::exchange(change_timers_, {})) {
    loop_.CancelTimer(timer);
  }
  for (const milliseconds delay : kLooksAfterChange) {
    change_timers_.push_back(loop_.After(delay, [this] { changed_(); }));
  }
}

void Triggers::ArmQuickPoll() {
  quick_timer_ = loop_.After(options_.quick_poll, [this] {
    std::string look = QuickLook(host_);
    if (look != quick_look_) {
      quick_look_ = std::move(look);
      changed_();
    }
    ArmQuickPoll();
  });
}

void Triggers::ArmSlowPoll() {
  slow_timer_ = loop_.After(options_.slow_poll, [this] {
    poll_();
    ArmSlowPoll();
  });
}

}  // namespace kgpu::inventory
