#include "src/usage/book.h"

#include <algorithm>
#include <utility>

#include "src/base/log.h"

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

Book::Book(std::string folder, Writer writer)
    : folder_(std::move(folder)), writer_(std::move(writer)) {
  Kept kept = LoadLedger(folder_);
  all_ = std::move(kept.ledger);
  recent_ = std::move(kept.recent);
  generation_ = kept.generation;
  Note(kept.problem);
}

void Book::Note(const Status& status) {
  const std::string text(Message(status));
  if (!text.empty() && text != problem_) {
    KGPU_LOG(kWarning, "usage is not kept", {"reason", text},
             {"effect", "a restart forgets what is counted"});
  }
  problem_ = text;
}

void Book::WatchClock(SteadyTime now, WallTime wall) {
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

void Book::Count(const MeterInput& input) {
  const SteadyTime now = input.samples.begun;
  WatchClock(now, input.samples.taken);
  const Rates rates = RatesOf(input);
  std::erase_if(current_, [&rates](const auto& pod) { return !rates.contains(pod.first); });
  if (has_round_ && now > round_) {
    const duration<double> step = std::min<SteadyTime::duration>(now - round_, kLongestStep);
    Add(rates, step.count(), std::chrono::floor<std::chrono::hours>(input.samples.taken));
  }
  has_round_ = true;
  round_ = now;
  WriteWhatIsDue(now, input.samples.taken);
}

void Book::Add(const Rates& rates, double seconds, Hour hour) {
  for (const auto& [pod, rate] : rates) {
    const Amounts amounts{.gpu_seconds = rate.gpu_seconds * seconds,
                          .busy_gpu_seconds = rate.busy_gpu_seconds * seconds,
                          .gib_seconds = rate.gib_seconds * seconds,
                          .untold_gpu_seconds = rate.untold_gpu_seconds * seconds};
    current_[pod] += amounts;
    all_.Add(hour, pod, amounts);
    (is_writing_all_ ? later_ : recent_).Add(hour, pod, amounts);
  }
}

void Book::WriteWhatIsDue(SteadyTime now, WallTime wall) {
  if (is_writing_all_) {
    return;
  }
  if (now - all_written_ >= kAllEvery) {
    if (now - trusted_ >= kTrust) {
      all_.Trim(std::chrono::floor<std::chrono::hours>(wall) - retention_);
    }
    all_written_ = recent_written_ = now;
    WriteAll();
  } else if (now - recent_written_ >= kRecentEvery) {
    recent_written_ = now;
    WriteRecent();
  }
}

void Book::WriteRecent() {
  if (!recent_.empty()) {
    writer_(WriteOfRecent(folder_, generation_, recent_),
            [this, alive = std::weak_ptr<int>(alive_)](const Status& status) {
              if (!alive.expired()) {
                Note(status);
              }
            });
  }
}

void Book::WriteAll() {
  if (recent_.empty() && later_.empty()) {
    return;
  }
  is_writing_all_ = true;
  const bool is_taken = writer_(WriteOfAll(folder_, generation_ + 1, all_),
                                [this, alive = std::weak_ptr<int>(alive_)](const Status& status) {
                                  if (!alive.expired()) {
                                    OnAllWritten(status);
                                  }
                                });
  is_writing_all_ = is_writing_all_ && is_taken;
}

void Book::OnAllWritten(const Status& status) {
  is_writing_all_ = false;
  Note(status);
  if (status.ok()) {
    ++generation_;
    recent_ = std::exchange(later_, Ledger());
  } else {
    recent_.Add(std::exchange(later_, Ledger()));
  }
}

void Book::Flush() {
  // A write in progress has the generation that would be next.
  generation_ += is_writing_all_ ? 1 : 0;
  WriteAll();
}

}  // namespace kgpu::usage
