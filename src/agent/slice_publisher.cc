#include "src/agent/slice_publisher.h"

#include <utility>

#include "src/platform/base/log.h"

namespace kgpu::agent {
namespace {

constexpr std::chrono::seconds kWriteAgain{30};
// Somebody else may touch the folder, and a container can make its ledger longer.
constexpr std::chrono::seconds kCheckAgain{60};

}  // namespace

SlicePublisher::SlicePublisher(EventLoop& loop, pods::Background background,
                               share::SliceFilesOptions options, std::function<void()> changed)
    : loop_(loop),
      background_(std::move(background)),
      options_(std::move(options)),
      changed_(std::move(changed)),
      self_(std::make_shared<SlicePublisher*>(this)) {
}

SlicePublisher::~SlicePublisher() {
  loop_.CancelTimer(timer_);
}

void SlicePublisher::Set(std::vector<share::SliceSlot> slots) {
  if (slots == slots_) {
    return;
  }
  slots_ = std::move(slots);
  paths_.reset();
  Write();
}

std::string SlicePublisher::problem() const {
  return paths_ && !paths_->ok() ? std::string(Message(paths_->status())) : "";
}

void SlicePublisher::Write() {
  loop_.CancelTimer(std::exchange(timer_, TimerId::kNone));
  ++round_;
  if (slots_.empty()) {
    return;
  }
  const std::weak_ptr<SlicePublisher*> self = self_;
  const auto take = [self, round = round_](StatusOr<share::SlicePaths> paths) {
    if (const auto alive = self.lock()) {
      (*alive)->Take(round, std::move(paths));
    }
  };
  const bool is_accepted = background_(
      [options = options_, slots = slots_, take]() -> std::function<void()> {
        return [take, paths = share::WriteSliceFiles(options, slots)] { take(paths); };
      },
      [take](const Status& status) { take(status); });
  if (!is_accepted) {
    WriteAfter(kWriteAgain);
  }
}

void SlicePublisher::Take(uint64_t round, StatusOr<share::SlicePaths> paths) {
  if (round != round_) {
    return;
  }
  WriteAfter(paths.ok() ? kCheckAgain : kWriteAgain);
  if (paths_ && *paths_ == paths) {
    return;
  }
  if (!paths.ok()) {
    KGPU_LOG(kError, "memory slices unavailable", {"problem", Message(paths.status())});
  }
  paths_ = std::move(paths);
  changed_();
}

void SlicePublisher::WriteAfter(std::chrono::seconds time) {
  timer_ = loop_.After(time, [this] {
    timer_ = TimerId::kNone;
    Write();
  });
}

}  // namespace kgpu::agent
