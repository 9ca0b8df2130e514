#include "src/node/slices/slice_publisher.h"

#include <utility>

#include "src/platform/base/log.h"

namespace kgpu::slices {
namespace {

constexpr std::chrono::seconds kWriteAgain{30};
// Somebody else may touch the folder, and a container can make its ledger longer.
constexpr std::chrono::seconds kCheckAgain{60};

}  // namespace

SlicePublisher::SlicePublisher(EventLoop& loop, pods::Background background,
                               slices::SliceFilesOptions options, std::function<void()> changed)
    : loop_(loop),
      background_(std::move(background)),
      options_(std::move(options)),
      changed_(std::move(changed)) {
}

void SlicePublisher::Set(std::vector<slices::SliceSlot> slots,
                         const std::set<std::string>& new_tenants) {
  if (slots == slots_ && new_tenants.empty()) {
    return;
  }
  slots_ = std::move(slots);
  new_tenants_.insert(new_tenants.begin(), new_tenants.end());
  paths_.reset();
  Write();
}

std::string SlicePublisher::problem() const {
  return paths_ && !paths_->ok() ? std::string(Message(paths_->status())) : "";
}

void SlicePublisher::Write() {
  timer_.Cancel();
  ++round_;
  if (slots_.empty()) {
    return;
  }
  const std::function<void(StatusOr<sharing::SlicePaths>)> take =
      lifetime_.Bind([this, round = round_](StatusOr<sharing::SlicePaths> paths) {
        Take(round, std::move(paths));
      });
  const bool is_accepted = background_(
      [options = options_, slots = slots_, tenants = new_tenants_,
       take]() -> std::function<void()> {
        return [take, paths = slices::WriteSliceFiles(options, slots, tenants)] { take(paths); };
      },
      [take](const Status& status) { take(status); });
  if (!is_accepted) {
    WriteAfter(kWriteAgain);
  }
}

void SlicePublisher::Take(uint64_t round, StatusOr<sharing::SlicePaths> paths) {
  if (round != round_) {
    return;
  }
  WriteAfter(paths.ok() ? kCheckAgain : kWriteAgain);
  if (paths.ok()) {
    new_tenants_.clear();
  }
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
  timer_.Arm(time, [this] { Write(); });
}

}  // namespace kgpu::slices
