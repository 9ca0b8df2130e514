#include "src/functions/queue/call_rules.h"

#include <algorithm>
#include <array>
#include <span>

#include "src/platform/base/backoff.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

constexpr std::chrono::milliseconds kFirstRetryPause = std::chrono::seconds(1);
constexpr size_t kLongestProblem = 1'000;
constexpr int kFirstFailure = 400;
// Another attempt may succeed; as in OpenFaaS, and 499: the caller left.
constexpr std::array<int, 7> kRetriedCodes = {408, 429, 499, 500, 502, 503, 504};

constexpr uint64_t kHighestCode = 999;
constexpr std::array<std::string_view, 2> kTrace = {"traceparent", "tracestate"};
// Of the answer's connection, or ours to say. A function cannot choose the host of its callback.
constexpr std::array<std::string_view, 15> kNotOfAnswer = {
    "Connection",        "Keep-Alive",        "Proxy-Connection", "TE",   "Trailer", "Upgrade",
    "Transfer-Encoding", "Content-Length",    "Expect",           "Host", "Date",    "X-Call-Id",
    "X-Function-Name",   "X-Function-Status", kAnsweredHeader};

bool IsAny(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::any_of(
      names, [name](std::string_view other) { return http::EqualsIgnoringCase(name, other); });
}

size_t BytesOf(const CallRecord& call) {
  size_t bytes = call.target.size() + call.body.size();
  for (const auto& [name, value] : call.headers.fields()) {
    bytes += name.size() + value.size();
  }
  return bytes;
}

bool IsSuccess(int code) {
  return code > 0 && code < kFirstFailure;
}

// Unless the function has set one.
void AddTraceOf(const http::Headers& from, http::Headers& to) {
  if (to.Find(kTrace.front())) {
    return;
  }
  const http::Headers trace = TraceOf(from);
  for (const auto& [name, value] : trace.fields()) {
    to.Add(name, value);
  }
}

}  // namespace

void OnArrival(CallRecord& call, WallTime now) {
  call.bytes = BytesOf(call);
  call.arrived = now;
  call.not_before = now;
  call.retries_left = call.retries;
}

NextStep AfterAttempt(CallRecord& call, const CallOutcome& outcome, WallTime now,
                      std::chrono::hours patience) {
  ++call.attempts;
  call.code = outcome.code;
  call.problem = Printable(Trim(outcome.problem), kLongestProblem);
  if (IsSuccess(outcome.code)) {
    return NextStep::kEnd;
  }
  const bool is_untaken = !outcome.was_taken && now - call.arrived < patience;
  const bool may_succeed = std::ranges::find(kRetriedCodes, outcome.code) != kRetriedCodes.end();
  if (!is_untaken && !(may_succeed && call.retries_left > 0)) {
    call.is_dead = true;
    return NextStep::kBury;
  }
  if (!is_untaken) {
    --call.retries_left;
  }
  call.not_before = now + DoublingPause(call.attempts, kFirstRetryPause, kLongestPause);
  return NextStep::kRepeat;
}

http::Headers CallbackHeaders(const CallRecord& call, const CallOutcome& outcome) {
  http::Headers headers;
  // A body that was left out has no coding.
  const bool has_body = !outcome.body.empty();
  for (const auto& [name, value] : outcome.headers.fields()) {
    if (!IsAny(name, kNotOfAnswer) &&
        (has_body || !http::EqualsIgnoringCase(name, "Content-Encoding"))) {
      headers.Add(name, value);
    }
  }
  headers.Add("X-Call-Id", call.call_id);
  headers.Add("X-Function-Name", call.function);
  headers.Add("X-Function-Status", std::to_string(outcome.code));
  AddTraceOf(call.headers, headers);
  return headers;
}

http::Headers TraceOf(const http::Headers& headers) {
  http::Headers trace;
  for (const std::string_view name : kTrace) {
    if (const auto value = headers.Find(name)) {
      trace.Add(name, *value);
    }
  }
  return trace;
}

CallRecord Answered(const CallRecord& call, const CallOutcome& outcome) {
  CallRecord answered = call;
  answered.headers = outcome.headers;
  answered.headers.EraseIf([](std::string_view name) { return IsAny(name, kNotOfAnswer); });
  answered.headers.Add(kAnsweredHeader, std::to_string(outcome.code));
  AddTraceOf(call.headers, answered.headers);
  answered.body = outcome.body;
  answered.bytes = BytesOf(answered);
  return answered;
}

std::optional<CallOutcome> AnswerIn(const CallRecord& call) {
  const auto code = call.headers.Find(kAnsweredHeader);
  const std::optional<uint64_t> number = ParseUint(code.value_or(""));
  if (!number || *number > kHighestCode) {
    return std::nullopt;
  }
  CallOutcome outcome{.code = static_cast<int>(*number)};
  outcome.headers = call.headers;
  outcome.headers.EraseIf(
      [](std::string_view name) { return http::EqualsIgnoringCase(name, kAnsweredHeader); });
  outcome.body = call.body;
  return outcome;
}

Status CheckArrival(const CallRecord& call, const CallLimits& limits, size_t arriving,
                    size_t arriving_bytes) {
  if (call.body.size() > limits.max_body) {
    return InvalidArgument("the input of an asynchronous call must be at most {} bytes",
                           limits.max_body);
  }
  if (arriving >= limits.max_arriving || arriving_bytes + call.bytes > limits.max_arriving_bytes) {
    return OutOfRange("too many asynchronous calls arrive at once: try again");
  }
  return OkStatus();
}

Status TooManyCalls(size_t calls) {
  return OutOfRange(
      "{} asynchronous calls are queued already: try again later, or make room with "
      "kgpu fn queue purge",
      calls);
}

Status TooManyBytes(size_t bytes) {
  return OutOfRange(
      "{} bytes of asynchronous calls are queued already: try again later, or make room with "
      "kgpu fn queue purge",
      bytes);
}

}  // namespace kgpu::functions
