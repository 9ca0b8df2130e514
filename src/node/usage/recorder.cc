#include "src/node/usage/recorder.h"

#include <algorithm>
#include <utility>

#include "src/platform/base/log.h"

namespace kgpu::usage {
namespace {

using std::chrono::duration;

constexpr std::chrono::minutes kLongestStep{5};
constexpr std::chrono::minutes kRecentEvery{1};
constexpr std::chrono::hours kAllEvery{1};
// A wall clock that moves otherwise than the steady one by more than this was set.
constexpr std::chrono::minutes kJump{10};
// Old hours are only forgotten by a clock that was not set for so long: at a boot it may say 1970,
// or 2100.
constexpr std::chrono::hours kTrust{1};

}  // namespace

Recorder::Recorder(std::string folder, Disk disk)
    : folder_(std::move(folder)), disk_(std::move(disk)) {
  Load();
}

void Recorder::Load() {
  is_loading_ = true;
  const bool is_taken =
      disk_.load(folder_, [this, alive = std::weak_ptr<int>(alive_)](StatusOr<Kept> kept) {
        if (!alive.expired()) {
          OnLoaded(std::move(kept));
        }
      });
  if (!is_taken) {
    OnLoaded(ResourceExhausted("the disk is too slow"));
  }
}

void Recorder::OnLoaded(StatusOr<Kept> kept) {
  is_loading_ = false;
  Note(kept.ok() ? kept->problem : kept.status());
  if (kept.ok()) {
    is_loaded_ = true;
    generation_ = kept->generation;
    all_ = std::move(kept->ledger);
    all_.Add(recent_);
    kept->recent.Add(recent_);
    recent_ = std::move(kept->recent);
  }
}

void Recorder::Note(const Status& status) {
  const std::string text(Message(status));
  if (!text.empty() && text != problem_) {
    KGPU_LOG(kWarning, "usage not saved", {"reason", text},
             {"effect", "a restart loses the counted usage"});
  }
  problem_ = text;
}

void Recorder::WatchClock(SteadyTime now, WallTime wall) {
  if (has_clock_) {
    const auto drift = std::chrono::duration_cast<std::chrono::seconds>(wall - clock_wall_) -
                       std::chrono::duration_cast<std::chrono::seconds>(now - clock_steady_);
    if (drift > kJump || -drift > kJump) {
      trusted_ = now;
    }
  } else {
    trusted_ = recent_written_ = all_written_ = now;
  }
  has_clock_ = true;
  clock_steady_ = now;
  clock_wall_ = wall;
}

void Recorder::Count(const MeterInput& input, SteadyTime now, WallTime wall) {
  WatchClock(now, wall);
  const Rates rates = RatesOf(input);
  std::erase_if(current_, [&rates](const auto& pod) { return !rates.contains(pod.first); });
  if (has_round_ && now > round_) {
    const duration<double> step = std::min<SteadyTime::duration>(now - round_, kLongestStep);
    Add(rates, step.count(), std::chrono::floor<std::chrono::hours>(wall));
  }
  // A round began before its samples arrived: a count between the two may be ahead of it.
  round_ = has_round_ ? std::max(round_, now) : now;
  has_round_ = true;
  WriteWhatIsDue(now, wall);
}

void Recorder::Add(const Rates& rates, double seconds, Hour hour) {
  is_flushed_ = is_flushed_ && rates.empty();
  for (const auto& [pod, rate] : rates) {
    const Amounts amounts{.gpu_seconds = rate.gpu_seconds * seconds,
                          .busy_gpu_seconds = rate.busy_gpu_seconds * seconds,
                          .gib_seconds = rate.gib_seconds * seconds,
                          .unreported_gpu_seconds = rate.unreported_gpu_seconds * seconds};
    current_[pod] += amounts;
    all_.Add(hour, pod, amounts);
    (is_writing_all_ ? later_ : recent_).Add(hour, pod, amounts);
  }
}

void Recorder::WriteWhatIsDue(SteadyTime now, WallTime wall) {
  if (is_writing_all_ || is_loading_) {
    return;
  }
  const bool is_recent_due = now - recent_written_ >= kRecentEvery;
  if (!is_loaded_) {
    if (is_recent_due) {
      recent_written_ = now;
      Load();
    }
  } else if (now - all_written_ >= kAllEvery || (has_all_failed_ && is_recent_due)) {
    if (now - trusted_ >= kTrust) {
      all_.Trim(std::chrono::floor<std::chrono::hours>(wall) - retention_);
    }
    all_written_ = recent_written_ = now;
    WriteAll();
  } else if (is_recent_due) {
    recent_written_ = now;
    WriteRecent();
  }
}

void Recorder::Write(LedgerWrite write, void (Recorder::*done)(const Status&)) {
  const bool is_taken = disk_.write(
      std::move(write), [this, done, alive = std::weak_ptr<int>(alive_)](const Status& status) {
        if (!alive.expired()) {
          (this->*done)(status);
        }
      });
  if (!is_taken) {
    (this->*done)(ResourceExhausted("the disk is too slow"));
  }
}

void Recorder::WriteRecent() {
  if (!recent_.empty()) {
    Write({.kind = LedgerWrite::Kind::kRecent,
           .folder = folder_,
           .generation = generation_,
           .ledger = std::make_shared<const Ledger>(recent_.Copy())},
          &Recorder::OnRecentWritten);
  }
}

void Recorder::OnRecentWritten(const Status& status) {
  if (!status.ok() || !has_all_failed_) {
    Note(status);
  }
}

void Recorder::WriteAll() {
  if (recent_.empty() && later_.empty()) {
    return;
  }
  is_writing_all_ = true;
  Write({.kind = LedgerWrite::Kind::kAll,
         .folder = folder_,
         .generation = generation_ + 1,
         .ledger = std::make_shared<const Ledger>(all_.Copy())},
        &Recorder::OnAllWritten);
}

// A write may fail once the new file is in its place. Then the file of recent things, with the
// generation of before, is not looked at: so everything is tried again soon. If the old one is
// still there, as on a full disk, the recent things count.
void Recorder::OnAllWritten(const Status& status) {
  is_writing_all_ = false;
  has_all_failed_ = !status.ok();
  Note(status);
  if (status.ok()) {
    ++generation_;
    recent_ = std::exchange(later_, Ledger());
  } else {
    recent_.Add(std::exchange(later_, Ledger()));
    WriteRecent();
  }
}

void Recorder::Flush() {
  if (std::exchange(is_flushed_, true)) {
    return;
  }
  if (!is_loaded_) {
    if (!recent_.empty()) {
      disk_.write({.kind = LedgerWrite::Kind::kMore,
                   .folder = folder_,
                   .ledger = std::make_shared<const Ledger>(recent_.Copy())},
                  [](const Status&) {});
    }
    return;
  }
  // A write in progress has the generation that would be next.
  generation_ += is_writing_all_ ? 1 : 0;
  WriteAll();
}

}  // namespace kgpu::usage
