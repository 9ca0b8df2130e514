#include "src/functions/service/async_call.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "src/functions/queue/call_rules.h"
#include "src/functions/queue/callback.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

constexpr size_t kMaxAnswer = size_t{16} << 20;
constexpr size_t kMaxAnswers = size_t{256} << 20;  // of all calls under way
constexpr size_t kMaxKey = 255;
constexpr size_t kMaxProblem = 1'000;
constexpr int kNoFunction = 404;
constexpr int kCutOff = 502;

// No replica got the call: another attempt cannot repeat anything.
bool WasRefusedUntaken(std::string_view fault) {
  static constexpr std::array<std::string_view, 6> kUntaken = {"no-gpu", "no-replica", "overload",
                                                               "quota",  "start",      "stopping"};
  return std::ranges::find(kUntaken, fault) != kUntaken.end();
}

// Only in the queue: no caller can set them.
bool IsOfQueue(std::string_view name) {
  return http::EqualsIgnoringCase(name, kIdentityHeader) ||
         http::EqualsIgnoringCase(name, kAnsweredHeader);
}

Status CheckKey(std::string_view key) {
  const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (key.empty() || key.size() > kMaxKey || !std::ranges::all_of(key, is_printable)) {
    return InvalidArgument("{}: must be 1 to {} printable characters", kIdempotencyHeader, kMaxKey);
  }
  return OkStatus();
}

}  // namespace

// Keeps the answer for a callback, else its code alone. Reports at its destruction, whatever has
// happened.
class AsyncCalls::Sink final : public CallSink {
 public:
  Sink(bool keeps_body, std::shared_ptr<size_t> all_bytes, std::function<void(CallOutcome)> ended)
      : keeps_body_(keeps_body), all_bytes_(std::move(all_bytes)), ended_(std::move(ended)) {}
  ~Sink() override {
    *all_bytes_ -= outcome_.body.size();
    if (!has_ended_) {
      outcome_.code = std::max(outcome_.code, kCutOff);
      outcome_.problem = "the answer was cut off";
    }
    ended_(std::move(outcome_));
  }

  bool is_open() const override { return true; }
  void Refuse(const CallFault& fault) override {
    outcome_.code = fault.code;
    outcome_.problem = fault.text;
    outcome_.was_taken = !WasRefusedUntaken(fault.fault);
    outcome_.headers.Add(kFaultHeader, fault.fault);
    has_ended_ = true;
  }
  void Head(int code, const http::Headers& headers) override {
    outcome_.code = code;
    outcome_.headers = headers;
  }
  // Of a failure, people read the start.
  bool Data(std::string_view bytes) override {
    constexpr int kFirstFailure = 400;
    if (outcome_.code >= kFirstFailure && outcome_.problem.size() < kMaxProblem) {
      outcome_.problem += bytes.substr(0, kMaxProblem - outcome_.problem.size());
    }
    if (!keeps_body_ || is_too_large_) {
      return true;
    }
    if (outcome_.body.size() + bytes.size() > kMaxAnswer ||
        *all_bytes_ + bytes.size() > kMaxAnswers) {
      is_too_large_ = true;
      *all_bytes_ -= outcome_.body.size();
      outcome_.body = {};
      outcome_.headers.Add(kFaultHeader, "output");
      return true;
    }
    *all_bytes_ += bytes.size();
    outcome_.body += bytes;
    return true;
  }
  void End() override { has_ended_ = true; }

 private:
  const bool keeps_body_;
  const std::shared_ptr<size_t> all_bytes_;
  const std::function<void(CallOutcome)> ended_;
  CallOutcome outcome_;
  bool has_ended_ = false;
  bool is_too_large_ = false;
};

AsyncCalls::AsyncCalls(EventLoop& loop, Take take, Identity identity)
    : loop_(loop),
      take_(std::move(take)),
      identity_(std::move(identity)),
      answer_bytes_(std::make_shared<size_t>(0)) {
}

StatusOr<std::unique_ptr<AsyncCalls>> AsyncCalls::Start(EventLoop& loop,
                                                        const QueueMaker& make_queue, Take take,
                                                        Identity identity) {
  std::unique_ptr<AsyncCalls> calls(new AsyncCalls(loop, std::move(take), std::move(identity)));
  AsyncCalls* self = calls.get();
  ASSIGN_OR_RETURN(calls->queue_,
                   make_queue([self](CallRecord call, const CallQueue::Ended& ended) {
                     self->Try(std::move(call), ended);
                   }));
  return calls;
}

void AsyncCalls::Start(const std::string& function, http::Request request,
                       const std::string& call_id, int64_t retries, CallQueue::Accepted accepted) {
  CallRecord call{.call_id = call_id, .function = function, .retries = retries};
  if (const auto callback = request.headers.Find(kCallbackHeader)) {
    if (const auto url = ParseCallbackUrl(*callback); !url.ok()) {
      return accepted(InvalidArgument("{}: {}", kCallbackHeader, Message(url.status())));
    }
    call.callback = *callback;
  }
  if (const auto key = request.headers.Find(kIdempotencyHeader)) {
    if (const Status status = CheckKey(*key); !status.ok()) {
      return accepted(status);
    }
    call.idempotency_key = *key;
  }
  call.method = std::move(request.method);
  call.target = std::move(request.target);
  call.headers = std::move(request.headers);
  call.headers.EraseIf(IsOfQueue);
  if (const std::string identity = identity_(function); !identity.empty()) {
    call.headers.Add(kIdentityHeader, identity);
  }
  call.body = std::move(request.body);
  queue_->Put(std::move(call), std::move(accepted));
}

// The calls of a function that was deleted are removed, but perhaps later: the storage may not have
// worked then.
bool AsyncCalls::IsOfDeleted(const CallRecord& call) const {
  const auto meant = call.headers.Find(kIdentityHeader);
  const std::string deployed = identity_(call.function);
  return meant && !deployed.empty() && *meant != deployed;
}

void AsyncCalls::Try(CallRecord call, const CallQueue::Ended& ended) {
  // The sink ends within a pool: what follows is done from the loop.
  auto report = [&loop = loop_, ended](CallOutcome outcome) {
    loop.Post([ended, outcome = std::move(outcome)] { ended(outcome); });
  };
  http::Request request{.method = std::move(call.method), .target = std::move(call.target)};
  const bool is_of_deleted = IsOfDeleted(call);
  request.headers = std::move(call.headers);
  request.headers.EraseIf(IsOfQueue);
  request.body = std::move(call.body);
  FunctionCall made{
      .request = std::move(request),
      .call_id = call.call_id,
      .sink = std::make_unique<Sink>(!call.callback.empty(), answer_bytes_, std::move(report)),
      .arrived = loop_.clock().Now()};
  if (is_of_deleted) {
    made.sink->Refuse({kNoFunction, "input",
                       "the function that was called has been deleted, and another one has its "
                       "name: purge the call"});
  } else if (!take_(call.function, made)) {
    made.sink->Refuse({kNoFunction, "input", "the function is not deployed"});
  }
}

}  // namespace kgpu::functions
