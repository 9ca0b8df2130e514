#include "src/functions/redis/redis_queue.h"

#include <algorithm>

#include "src/platform/base/backoff.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

// Of one reply: more are claimed with the next one. It must have room for any call, and Redis ends
// a connection that receives messages if 32 MB wait for it.
constexpr size_t kClaimedAtOnce = 64;
constexpr size_t kClaimedBytesAtOnce = size_t{24} << 20;
// After an error of the server, and between two looks that find nothing.
constexpr seconds kServerRetry{10};
constexpr seconds kLeastPause{1};
constexpr seconds kCountEvery{1};
constexpr seconds kFirstRemovalPause{1};
constexpr int kRenewalsOfClaim = 3;
constexpr std::string_view kQueueNameLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
constexpr size_t kLongestQueueName = 100;

RedisLinkOptions WithChannel(RedisLinkOptions options, std::string_view name) {
  options.channel = RedisCalls::Channel(name);
  return options;
}

}  // namespace

StatusOr<std::unique_ptr<CallQueue>> RedisQueue::Start(EventLoop& loop, RedisQueueOptions options,
                                                       Attempt attempt) {
  if (options.link.address.servers.empty()) {
    return InvalidArgument("--redis-url: is missing: give the address of the Redis server");
  }
  const std::string& name = options.name;
  if (name.empty() || name.size() > kLongestQueueName ||
      name.find_first_not_of(kQueueNameLetters) != std::string::npos) {
    return InvalidArgument("--redis-name: {}: must be 1 to {} letters, digits, -, . and _",
                           Printable(name), kLongestQueueName);
  }
  return std::unique_ptr<CallQueue>(new RedisQueue(loop, std::move(options), std::move(attempt)));
}

RedisQueue::RedisQueue(EventLoop& loop, RedisQueueOptions options, Attempt attempt)
    : loop_(loop),
      options_(std::move(options)),
      attempt_(std::move(attempt)),
      callbacks_(loop, options_.trust),
      claim_timer_(loop),
      look_timer_(loop),
      renew_timer_(loop),
      count_timer_(loop),
      end_timer_(loop),
      link_(loop, WithChannel(options_.link, options_.name), options_.seed,
            {.on_ready = [this] { OnReady(); }, .on_message = [this] { Claim(); }}),
      calls_(link_, options_.name, fmt::format("{:016x}", options_.seed)) {
  Look();
}

RedisQueue::~RedisQueue() {
  lifetime_.End();
  if (const std::vector<int64_t> numbers = RunningNumbers(); link_.is_ready() && !numbers.empty()) {
    calls_.Release(numbers, loop_.clock().WallNow());
  }
}

// Only calls whose attempts have not ended.
std::vector<int64_t> RedisQueue::RunningNumbers() const {
  std::vector<int64_t> numbers;
  for (const auto& [number, call] : running_) {
    if (!ended_.contains(number)) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

// As often as somebody reads it: steps may fail by turns.
void RedisQueue::NoteProblem(std::string_view what, const Status& status) {
  const SteadyTime now = loop_.clock().Now();
  const bool is_known = status.ok() || Message(status) == problem_;
  // The link logs when the server is away.
  if (is_known || !link_.is_ready() || (noted_ && now - *noted_ < kServerRetry)) {
    return;
  }
  problem_ = Message(status);
  noted_ = now;
  KGPU_LOG(kError, "queue server refused a step", {"step", what}, {"reason", problem_});
}

void RedisQueue::OnReady() {
  // Calls that another gateway has claimed during an outage are not ours any more.
  Renew();
  for (const auto& [number, ended] : ended_) {
    SendEnd(number);
  }
  Claim();
}

// At rest, this is all that happens.
void RedisQueue::Look() {
  look_timer_.Arm(options_.look_every, [this] { Look(); });
  Claim();
}

ClaimRequest RedisQueue::Capacity() const {
  const IndexLimits& limits = options_.index;
  ClaimRequest request;
  request.calls =
      std::min(limits.running - std::min(limits.running, running_.size()), kClaimedAtOnce);
  request.bytes = std::min(limits.running_bytes - std::min(limits.running_bytes, running_bytes_),
                           kClaimedBytesAtOnce);
  request.calls_of_function = limits.running_of_function;
  request.has_none = running_.empty();
  for (const auto& [number, call] : running_) {
    ++request.running[call.function];
  }
  request.until = loop_.clock().WallNow() + options_.claim;
  return request;
}

void RedisQueue::Claim() {
  if (is_claiming_) {
    must_claim_ = true;
    return;
  }
  if (!link_.is_ready()) {
    return;  // OnReady claims, once there is a connection
  }
  RefreshCounts();
  const ClaimRequest request = Capacity();
  if (request.calls == 0) {
    return;  // the end of a call claims again
  }
  is_claiming_ = true;
  must_claim_ = false;
  calls_.Claim(
      request, loop_.clock().WallNow(),
      lifetime_.Bind([this](const StatusOr<ClaimedCalls>& claimed) { OnClaimed(claimed); }));
}

void RedisQueue::OnClaimed(const StatusOr<ClaimedCalls>& claimed) {
  is_claiming_ = false;
  NoteProblem("claim", claimed.status());
  if (!claimed.ok()) {
    return ArmClaim(kServerRetry);
  }
  if (claimed->unreadable > 0) {
    KGPU_LOG(kError, "calls in the queue not readable", {"calls", claimed->unreadable},
             {"effect", "they stay there, and are not made"});
  }
  const WallTime now = loop_.clock().WallNow();
  std::vector<CallRecord> begun;
  for (const CallRecord& call : claimed->calls) {
    // One whose claim ended during an outage, and came back, is being made already.
    const bool is_new =
        running_.try_emplace(call.number, RunningCall{call.function, call.bytes}).second;
    if (is_new) {
      running_bytes_ += call.bytes;
      begun.push_back(call);
    }
  }
  auto begin = lifetime_.Bind([this](CallRecord call) { Begin(std::move(call)); });
  auto go_on =
      lifetime_.Bind([this, now, found_some = !claimed->calls.empty(), next = claimed->next] {
        ArmRenewal();
        if (must_claim_ || found_some) {
          return Claim();
        }
        if (next) {
          ArmClaim(std::max<nanoseconds>(*next - now, kLeastPause));
        }
      });
  for (CallRecord& call : begun) {
    begin(std::move(call));  // may destroy this
  }
  go_on();
}

void RedisQueue::ArmClaim(nanoseconds pause) {
  claim_timer_.Arm(pause, [this] { Claim(); });
}

void RedisQueue::Begin(CallRecord call) {
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

void RedisQueue::OnEnded(CallRecord call, CallOutcome outcome) {
  if (!running_.contains(call.number)) {
    return;  // its function was deleted
  }
  const WallTime now = loop_.clock().WallNow();
  const NextStep step = AfterAttempt(call, outcome, now, options_.limits.patience);
  if (step == NextStep::kRepeat) {
    ++retries_[call.function];
    return Settle(std::move(call), step);
  }
  if (step == NextStep::kEnd && !call.callback.empty()) {
    return StoreAnswer(call, std::move(outcome));
  }
  Deliver(std::move(call), std::move(outcome));
}

// From then on neither a crash nor a callback that fails makes the function answer again.
void RedisQueue::StoreAnswer(const CallRecord& call, CallOutcome outcome) {
  const CallRecord answered = Answered(call, outcome);
  auto kept = std::make_shared<CallOutcome>(std::move(outcome));
  calls_.PutAnswer(answered, lifetime_.Bind([this, call, kept](const StatusOr<int64_t>& stored) {
    NoteProblem("answer of a call", stored.status());
    Deliver(call, std::move(*kept));
  }));
}

// Until the callback has ended the call stays claimed.
void RedisQueue::Deliver(CallRecord call, CallOutcome outcome) {
  callbacks_.Tell(std::move(call), std::move(outcome), [this](CallRecord ended) {
    KGPU_LOG(kInfo, "asynchronous call ended", {"function", ended.function},
             {"call", ended.call_id}, {"code", ended.code}, {"attempts", ended.attempts},
             {"problem", ended.problem});
    const NextStep last = ended.is_dead ? NextStep::kBury : NextStep::kEnd;
    Settle(std::move(ended), last);
  });
}

void RedisQueue::Settle(CallRecord call, NextStep step) {
  const int64_t number = call.number;
  if (!running_.contains(number)) {
    return;
  }
  ended_[number] = {.call = std::move(call), .step = step};
  SendEnd(number);
}

// Repeated until the server has stored it: until then the call counts as running, which bounds how
// many there can be.
void RedisQueue::SendEnd(int64_t number) {
  if (!link_.is_ready()) {
    return;  // OnReady sends it
  }
  const EndedCall& ended = ended_.at(number);
  calls_.End(ended.call, ended.step, options_.index,
             lifetime_.Bind([this, number](const StatusOr<int64_t>& stored) {
               OnEndStored(number, stored.status());
             }));
}

void RedisQueue::OnEndStored(int64_t number, const Status& status) {
  NoteProblem("end of a call", status);
  const auto ended = ended_.find(number);
  if (ended == ended_.end()) {
    return;
  }
  if (!status.ok()) {
    // A lost connection is left to OnReady.
    if (link_.is_ready() && !end_timer_.is_armed()) {
      end_timer_.Arm(kServerRetry, [this] {
        for (const auto& [unsent, call] : ended_) {
          SendEnd(unsent);
        }
      });
    }
    return;
  }
  ended_.erase(ended);
  if (const auto call = running_.find(number); call != running_.end()) {
    running_bytes_ -= call->second.bytes;
    running_.erase(call);
  }
  Claim();
}

void RedisQueue::ArmRenewal() {
  if (!renew_timer_.is_armed() && !running_.empty()) {
    renew_timer_.Arm(options_.claim / kRenewalsOfClaim, [this] { Renew(); });
  }
}

void RedisQueue::Renew() {
  renew_timer_.Cancel();
  if (running_.empty()) {
    return;
  }
  if (link_.is_ready()) {
    std::vector<int64_t> numbers;
    numbers.reserve(running_.size());
    for (const auto& [number, call] : running_) {
      numbers.push_back(number);
    }
    calls_.Renew(numbers, loop_.clock().WallNow() + options_.claim,
                 lifetime_.Bind([this](const StatusOr<int64_t>& done) {
                   NoteProblem("renewal", done.status());
                 }));
  }
  ArmRenewal();
}

void RedisQueue::Put(CallRecord call, Accepted accepted) {
  const WallTime now = loop_.clock().WallNow();
  OnArrival(call, now);
  if (const Status status = CheckArrival(call, options_.limits, arriving_, arriving_bytes_);
      !status.ok()) {
    return accepted(status);
  }
  ++arriving_;
  arriving_bytes_ += call.bytes;
  calls_.Put(call, now, options_.limits, options_.keys,
             lifetime_.Bind([this, bytes = call.bytes, was_sent = link_.is_ready(),
                             accepted = std::move(accepted)](const StatusOr<StoredCall>& stored) {
               --arriving_;
               arriving_bytes_ -= bytes;
               if (!stored.ok()) {
                 const bool is_lost = was_sent && !link_.is_ready();
                 return accepted(
                     is_lost ? Unavailable("{}: the call may be queued: repeat it with the same "
                                           "Idempotency-Key",
                                           Message(stored.status()))
                             : Annotate(stored.status(), "the call was not queued"));
               }
               switch (stored->kind) {
                 case StoredCall::Kind::kTooManyCalls:
                   return accepted(TooManyCalls(stored->amount));
                 case StoredCall::Kind::kTooManyBytes:
                   return accepted(TooManyBytes(stored->amount));
                 case StoredCall::Kind::kNew:
                 case StoredCall::Kind::kKnown:
                   return accepted(stored->call_id);
               }
             }));
}

void RedisQueue::RemoveFunction(const std::string& function) {
  for (auto call = running_.begin(); call != running_.end();) {
    if (call->second.function == function) {
      running_bytes_ -= call->second.bytes;
      ended_.erase(call->first);
      call = running_.erase(call);
    } else {
      ++call;
    }
  }
  counts_.erase(function);
  retries_.erase(function);
  RemovePart(function, loop_.clock().WallNow(), 0);
}

// A function of the same name may have calls by the time of a repetition: these stay.
void RedisQueue::RemovePart(const std::string& function, WallTime removed, int64_t failures) {
  const std::optional<WallTime> arrived_by = failures == 0 ? std::nullopt : std::optional(removed);
  calls_.RemoveFunction(
      function, arrived_by,
      lifetime_.Bind([this, function, removed, failures](const StatusOr<int64_t>& part) {
        if (part.ok()) {
          return *part == 0 ? void() : RemovePart(function, removed, failures);
        }
        if (failures == 0) {
          KGPU_LOG(kError, "calls of a deleted function not removed yet", {"function", function},
                   {"reason", Message(part.status())});
        }
        loop_.After(DoublingPause(failures + 1, kFirstRemovalPause, kLongestPause),
                    lifetime_.Bind([this, function, removed, failures] {
                      RemovePart(function, removed, failures + 1);
                    }));
      }));
}

// Once a second while something changes.
void RedisQueue::RefreshCounts() {
  const SteadyTime now = loop_.clock().Now();
  if (is_counting_ || count_timer_.is_armed()) {
    return;
  }
  if (counted_ && now - *counted_ < kCountEvery) {
    return count_timer_.Arm(*counted_ + kCountEvery - now, [this] { RefreshCounts(); });
  }
  if (!link_.is_ready()) {
    return;
  }
  is_counting_ = true;
  counted_ = now;
  calls_.Counts(
      lifetime_.Bind([this](const StatusOr<std::map<std::string, FunctionCounts>>& counts) {
        is_counting_ = false;
        NoteProblem("counts", counts.status());
        if (counts.ok()) {
          counts_ = *counts;
        }
      }));
}

std::map<std::string, FunctionCounts> RedisQueue::Counts() const {
  std::map<std::string, FunctionCounts> counts = counts_;
  for (const auto& [function, retries] : retries_) {
    counts[function].retries = retries;
  }
  return counts;
}

}  // namespace kgpu::functions
