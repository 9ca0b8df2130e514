#include "src/functions/queue/disk_queue.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>

#include "src/platform/base/backoff.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kDiskRetry{10};
constexpr seconds kFirstRemovalPause{1};
constexpr std::chrono::minutes kCleanUpEvery{10};
constexpr size_t kPutsBeforeCleanUp = 10'000;

}  // namespace

StatusOr<std::unique_ptr<CallQueue>> DiskQueue::Start(EventLoop& loop, QueueOptions options,
                                                      Attempt attempt) {
  std::unique_ptr<DiskQueue> queue(new DiskQueue(loop, std::move(options), std::move(attempt)));
  DiskQueue* self = queue.get();
  ASSIGN_OR_RETURN(
      queue->worker_,
      TableWorker::Start(loop, self->options_.folder, self->options_.table,
                         [self](const std::vector<CallRecord>& calls, const std::string& note) {
                           self->OnOpened(calls, note);
                         }));
  queue->Open();
  return queue;
}

DiskQueue::DiskQueue(EventLoop& loop, QueueOptions options, Attempt attempt)
    : loop_(loop),
      options_(std::move(options)),
      attempt_(std::move(attempt)),
      index_(options_.index),
      callbacks_(loop, options_.trust),
      start_timer_(loop),
      open_timer_(loop),
      clean_timer_(loop) {
}

DiskQueue::~DiskQueue() = default;

void DiskQueue::Open() {
  worker_->Post([](CallTable&) { return OkStatus(); },
                [this](const Status& status) {
                  NoteDisk(status);
                  if (!status.ok()) {
                    open_timer_.Arm(kDiskRetry, [this] { Open(); });
                  }
                });
}

// One line when it stops working, and one when it works again: on a disk where large calls fail and
// small ones do not, a line for each change would flood the log.
void DiskQueue::NoteDisk(const Status& status) {
  const std::string problem(Message(status));
  const SteadyTime now = loop_.clock().Now();
  if (problem == problem_ || (logged_ && now - *logged_ < kDiskRetry)) {
    return;
  }
  problem_ = problem;
  logged_ = now;
  if (status.ok()) {
    KGPU_LOG(kInfo, "queue of calls works again");
  } else {
    KGPU_LOG(kError, "queue of calls does not work", {"reason", problem_});
  }
}

void DiskQueue::OnOpened(const std::vector<CallRecord>& calls, const std::string& note) {
  if (!note.empty()) {
    KGPU_LOG(kError, "queue of calls not read", {"problem", note});
  }
  const WallTime wall = loop_.clock().WallNow();
  const SteadyTime now = loop_.clock().Now();
  for (const CallRecord& call : calls) {
    // The wall clock may have been anywhere when it was written.
    const auto pause =
        std::clamp<WallTime::duration>(call.not_before - wall, milliseconds(0), kLongestPause);
    index_.Add(call.number, {.function = call.function,
                             .state = call.is_dead ? CallState::kDead : CallState::kWaiting,
                             .bytes = call.bytes,
                             .arrived = call.arrived,
                             .due = now + pause});
  }
  for (const int64_t number : index_.DropOldDead()) {
    RemoveFromDisk(number);
  }
  if (!calls.empty()) {
    KGPU_LOG(kInfo, "queue of calls read", {"waiting", index_.live()}, {"dead", index_.dead()});
  }
  ArmCleanUp();
  StartDue();
}

Status DiskQueue::CheckBounds(const CallRecord& call) const {
  const CallLimits& limits = options_.limits;
  RETURN_IF_ERROR(CheckArrival(call, limits, arriving_, arriving_bytes_));
  if (index_.live() + arriving_ >= limits.max_calls) {
    return TooManyCalls(index_.live());
  }
  if (index_.live_bytes() + arriving_bytes_ + call.bytes > limits.max_bytes) {
    return TooManyBytes(index_.live_bytes());
  }
  return OkStatus();
}

void DiskQueue::Put(CallRecord call, Accepted accepted) {
  OnArrival(call, loop_.clock().WallNow());
  if (const Status status = CheckBounds(call); !status.ok()) {
    return accepted(status);
  }
  ++arriving_;
  arriving_bytes_ += call.bytes;
  auto stored = std::make_shared<CallTable::Stored>();
  auto kept = std::make_shared<CallRecord>(std::move(call));
  worker_->Post(
      [kept, stored](CallTable& table) {
        ASSIGN_OR_RETURN(*stored, table.Put(*kept));
        return OkStatus();
      },
      [this, kept, stored, accepted = std::move(accepted)](const Status& status) {
        --arriving_;
        arriving_bytes_ -= kept->bytes;
        if (status.code() != StatusCode::kInvalidArgument) {
          NoteDisk(status);
        }
        if (!status.ok()) {
          const bool is_full = status.code() == StatusCode::kResourceExhausted;
          return accepted(
              is_full ? ResourceExhausted("the call was not queued: {}: {}: free space there, "
                                          "or purge calls with kgpu fn queue purge",
                                          options_.folder, Message(status))
                      : Annotate(status, "the call was not queued"));
        }
        if (stored->number != 0) {
          kept->number = stored->number;
          OnStored(*kept);
        }
        accepted(stored->call_id);
      });
}

void DiskQueue::OnStored(const CallRecord& call) {
  index_.Add(call.number, {.function = call.function,
                           .bytes = call.bytes,
                           .arrived = call.arrived,
                           .due = loop_.clock().Now()});
  if (++puts_ >= kPutsBeforeCleanUp) {
    CleanUp();
  }
  ArmCleanUp();
  // Once for all calls of a transaction.
  if (!is_start_posted_) {
    is_start_posted_ = true;
    loop_.Post(lifetime_.Bind([this] {
      is_start_posted_ = false;
      StartDue();
    }));
  }
}

void DiskQueue::RemoveFunction(const std::string& function) {
  index_.RemoveFunction(function);
  RemoveCalls(function, loop_.clock().WallNow(), 0);
}

// A function of the same name may have calls by the time of a repetition: these stay.
void DiskQueue::RemoveCalls(const std::string& function, WallTime removed, int64_t failures) {
  const WallTime arrived_by = failures == 0 ? WallTime::max() : removed;
  worker_->Post([function, arrived_by](
                    CallTable& table) { return table.RemoveFunction(function, arrived_by); },
                [this, function, arrived_by, removed, failures](const Status& status) {
                  // Including calls that were on their way to the disk.
                  index_.RemoveFunction(function, arrived_by);
                  if (status.ok()) {
                    return;
                  }
                  if (failures == 0) {
                    KGPU_LOG(kError, "calls of a deleted function not removed yet",
                             {"function", function}, {"reason", Message(status)});
                  }
                  loop_.After(DoublingPause(failures + 1, kFirstRemovalPause, kLongestPause),
                              lifetime_.Bind([this, function, removed, failures] {
                                RemoveCalls(function, removed, failures + 1);
                              }));
                });
}

void DiskQueue::StartDue() {
  start_timer_.Cancel();
  const SteadyTime now = loop_.clock().Now();
  while (const std::optional<int64_t> number = index_.StartNext(now)) {
    Read(*number);
  }
  if (const std::optional<SteadyTime> next = index_.NextDue()) {
    start_timer_.Arm(*next - now, [this] { StartDue(); });
  }
}

void DiskQueue::Read(int64_t number) {
  auto call = std::make_shared<CallRecord>();
  worker_->Post(
      [number, call](CallTable& table) {
        ASSIGN_OR_RETURN(*call, table.Read(number));
        return OkStatus();
      },
      [this, number, call](const Status& status) {
        if (status.ok() && index_.Find(number) != nullptr) {
          return Begin(std::move(*call));
        }
        if (status.ok() || status.code() == StatusCode::kNotFound) {
          index_.Remove(number);  // it was purged
        } else {
          NoteDisk(status);
          index_.Wait(number, loop_.clock().Now() + kDiskRetry);
        }
        StartDue();
      });
}

void DiskQueue::Begin(CallRecord call) {
  if (std::optional<CallOutcome> answer = AnswerIn(call)) {
    call.code = answer->code;
    return Deliver(std::move(call), *std::move(answer));
  }
  CallRecord known = call;
  known.body = {};
  known.headers = TraceOf(call.headers);
  attempt_(std::move(call), lifetime_.Bind([this, known = std::move(known)](CallOutcome outcome) {
    OnEnded(known, std::move(outcome));
  }));
}

void DiskQueue::OnEnded(CallRecord call, CallOutcome outcome) {
  if (index_.Find(call.number) == nullptr) {
    return StartDue();  // its function was deleted
  }
  const WallTime now = loop_.clock().WallNow();
  const NextStep step = AfterAttempt(call, outcome, now, options_.limits.patience);
  if (step == NextStep::kRepeat) {
    return TryAgain(call);
  }
  if (step == NextStep::kEnd && !call.callback.empty()) {
    return StoreAnswer(call, std::move(outcome));
  }
  Deliver(std::move(call), std::move(outcome));
}

// From then on neither a crash nor a callback that fails makes the function answer again.
void DiskQueue::StoreAnswer(const CallRecord& call, CallOutcome outcome) {
  auto answered = std::make_shared<const CallRecord>(Answered(call, outcome));
  auto kept = std::make_shared<CallOutcome>(std::move(outcome));
  worker_->Post([answered](CallTable& table) { return table.PutAnswer(*answered); },
                [this, answered, call, kept](const Status& status) {
                  NoteDisk(status);
                  if (status.ok()) {
                    index_.Resize(answered->number, answered->bytes);
                  }
                  Deliver(call, std::move(*kept));
                });
}

// Until the callback has ended the call counts as running.
void DiskQueue::Deliver(CallRecord call, CallOutcome outcome) {
  callbacks_.Tell(std::move(call), std::move(outcome),
                  [this](const CallRecord& ended) { Settle(ended); });
}

void DiskQueue::TryAgain(const CallRecord& call) {
  const auto pause = call.not_before - loop_.clock().WallNow();
  index_.CountRetry(call.number);
  index_.Wait(call.number, loop_.clock().Now() + pause);
  Update(call);
  StartDue();
}

void DiskQueue::Settle(const CallRecord& call) {
  KGPU_LOG(kInfo, "asynchronous call ended", {"function", call.function}, {"call", call.call_id},
           {"code", call.code}, {"attempts", call.attempts}, {"problem", call.problem});
  if (index_.Find(call.number) == nullptr) {
    return StartDue();
  }
  if (call.is_dead) {
    Update(call);
    for (const int64_t oldest : index_.Bury(call.number)) {
      RemoveFromDisk(oldest);
    }
  } else {
    index_.Remove(call.number);
    RemoveFromDisk(call.number);
  }
  StartDue();
}

// A failure costs no call: after a crash, the attempt is made again.
void DiskQueue::Update(const CallRecord& call) {
  worker_->Post([call](CallTable& table) { return table.Update(call); },
                [this](const Status& status) { NoteDisk(status); });
}

void DiskQueue::RemoveFromDisk(int64_t number) {
  worker_->Post([number](CallTable& table) { return table.Remove(number); },
                [this, number](const Status& status) {
                  NoteDisk(status);
                  if (!status.ok()) {
                    loop_.After(kDiskRetry,
                                lifetime_.Bind([this, number] { RemoveFromDisk(number); }));
                  }
                });
}

void DiskQueue::ArmCleanUp() {
  if (!clean_timer_.is_armed()) {
    clean_timer_.Arm(kCleanUpEvery, [this] {
      CleanUp();
      if (index_.live() > 0) {
        ArmCleanUp();
      }
    });
  }
}

void DiskQueue::CleanUp() {
  puts_ = 0;
  worker_->Post([now = loop_.clock().WallNow()](CallTable& table) { return table.CleanUp(now); },
                [this](const Status& status) { NoteDisk(status); });
}

void DiskQueue::List(const CallSelection& selection,
                     std::function<void(StatusOr<boost::json::object>)> done) {
  struct Found {
    std::vector<std::pair<CallRecord, CallState>> calls;
    size_t left = 0;
  };
  auto found = std::make_shared<Found>();
  worker_->Post(
      [found, selection, running = index_.Running()](CallTable& table) {
        *found = {};
        return table.Visit(selection, running, [&](const CallRecord& call, CallState state) {
          if (found->calls.size() < kMaxListedCalls) {
            found->calls.emplace_back(call, state);
          } else {
            ++found->left;
          }
          return true;
        });
      },
      [this, found, done = std::move(done)](const Status& status) {
        if (!status.ok()) {
          return done(status);
        }
        boost::json::array calls;
        for (const auto& [call, state] : found->calls) {
          calls.push_back(CallView(call, state));
        }
        done(
            boost::json::object{{"functions", CountsView(index_.Counts(), loop_.clock().WallNow())},
                                {"calls", std::move(calls)},
                                {"left", found->left}});
      });
}

void DiskQueue::Change(const ChangeRequest& request, bool is_retry,
                       std::function<void(StatusOr<size_t>)> done) {
  auto changed = std::make_shared<std::vector<CallRecord>>();
  const WallTime now = loop_.clock().WallNow();
  worker_->Post(
      [changed, request, is_retry, now, running = index_.Running()](CallTable& table) {
        changed->clear();
        RETURN_IF_ERROR(
            table.Visit(request.selection, running, [&](const CallRecord& call, CallState state) {
              if (state != CallState::kRunning) {
                changed->push_back(call);
              }
              return true;
            }));
        for (CallRecord& call : *changed) {
          call.target = {};
          call.arrived = now;
          call.not_before = now;
          call.attempts = 0;
          call.retries_left = call.retries;
          call.is_dead = false;
          if (!request.is_dry_run) {
            RETURN_IF_ERROR(is_retry ? table.Update(call) : table.Remove(call.number));
          }
        }
        return OkStatus();
      },
      [this, changed, is_retry, is_dry_run = request.is_dry_run,
       done = std::move(done)](const Status& status) {
        if (!status.ok()) {
          return done(status);
        }
        for (const CallRecord& call : *changed) {
          const IndexedCall* known = index_.Find(call.number);
          // One that began meanwhile goes on; if it is purged, it is not found on the disk.
          if (is_dry_run || known == nullptr || known->state == CallState::kRunning) {
            continue;
          }
          index_.Remove(call.number);
          if (is_retry) {
            index_.Add(call.number, {.function = call.function,
                                     .bytes = call.bytes,
                                     .arrived = call.arrived,
                                     .due = loop_.clock().Now()});
          }
        }
        StartDue();
        done(changed->size());
      });
}

}  // namespace kgpu::functions
