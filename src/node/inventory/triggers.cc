#include "src/node/inventory/triggers.h"

#include <fcntl.h>
#include <sys/inotify.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "src/host/inspect/companion_nodes.h"
#include "src/node/inventory/quick_look.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/ticks.h"

namespace kgpu::inventory {
namespace {

using std::chrono::milliseconds;

// Device nodes come before the driver knows the GPU; MIG events before the files of /proc.
constexpr std::array kLooksAfterChange = {milliseconds(2), milliseconds(20), milliseconds(80),
                                          milliseconds(300), milliseconds(1000)};

// The device nodes of NVIDIA and of companions: their change is the cheapest sign that a GPU was
// added or removed or a driver loaded. For nodes in a folder, only the folder: the quick look sees
// changes in it.
bool IsOurs(std::string_view name) {
  constexpr std::string_view kDev = "/dev/";
  return name.starts_with("nvidia") || name == host::kGdrcopyName ||
         name == host::kInfinibandFolder.substr(kDev.size());
}

// `changed` is called once for each batch of changes. Errors: NotFound (no /dev), as Inotify.
StatusOr<std::unique_ptr<sys::Inotify>> WatchDev(EventLoop& loop, const sys::Root& host,
                                                 std::function<void()> changed) {
  // Relative to the folder's descriptor, so that a link in the root cannot lead out of it.
  ASSIGN_OR_RETURN(const UniqueFd dev, host.OpenFile("dev", O_PATH | O_DIRECTORY));
  ASSIGN_OR_RETURN(auto inotify,
                   sys::Inotify::Create(loop, [changed = std::move(changed)](const auto& events) {
                     if (std::ranges::any_of(events, [](const sys::Inotify::Event& event) {
                           return (event.mask & IN_Q_OVERFLOW) != 0 || IsOurs(event.name);
                         })) {
                       changed();
                     }
                   }));
  // Not IN_ATTRIB: nvidia-modprobe, which the driver's library runs, sets permissions each time.
  constexpr uint32_t kChanges = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR;
  if (const auto watch = inotify->Watch(fmt::format("/proc/self/fd/{}", dev.get()), kChanges);
      !watch.ok()) {
    return Annotate(watch.status(), "{}", host.At("dev"));
  }
  return inotify;
}

}  // namespace

Triggers::Triggers(EventLoop& loop, const sys::Root& host, const TriggerOptions& options,
                   std::function<void()> changed, std::function<void()> poll)
    : loop_(loop),
      host_(host),
      options_(options),
      changed_(std::move(changed)),
      poll_(std::move(poll)),
      quick_look_(QuickLook(host)) {
  auto watch = WatchDev(loop_, host_, [this] { LookRepeatedly(); });
  if (watch.ok()) {
    dev_watch_ = *std::move(watch);
  } else {
    KGPU_LOG(kWarning, "device nodes not watched", {"reason", Message(watch.status())},
             {"effect", "changes are found only by polling"});
  }
  ArmQuickPoll();
  ArmSlowPoll();
}

Triggers::~Triggers() {
  for (const TimerId timer : change_timers_) {
    loop_.CancelTimer(timer);
  }
}

void Triggers::OnFullLook() {
  quick_look_ = QuickLook(host_);
}

void Triggers::StopWatching() {
  if (dev_watch_) {
    dev_watch_->RemoveWatches();
  }
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
  quick_timer_.Arm(UntilNextTick(loop_.clock(), options_.quick_poll), [this] {
    std::string look = QuickLook(host_);
    if (look != quick_look_) {
      quick_look_ = std::move(look);
      changed_();
    }
    ArmQuickPoll();
  });
}

void Triggers::ArmSlowPoll() {
  slow_timer_.Arm(options_.slow_poll, [this] {
    poll_();
    ArmSlowPoll();
  });
}

}  // namespace kgpu::inventory
