#include "src/functions/queue/call_rules.h"

#include <algorithm>
#include <array>

#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstRetryPause = std::chrono::seconds(1);
constexpr size_t kLongestProblem = 1'000;
constexpr int kFirstFailure = 400;
// What may succeed when it is tried again; as in OpenFaaS, and 499: the caller left.
constexpr std::array<int, 7> kRetriedCodes = {408, 429, 499, 500, 502, 503, 504};

milliseconds PauseAfter(int64_t attempts) {
  milliseconds pause = kFirstRetryPause;
  for (int64_t i = 1; i < attempts && pause < kLongestPause; ++i) {
    pause *= 2;
  }
  return std::min(pause, kLongestPause);
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
  call.problem = Printable(outcome.problem, kLongestProblem);
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
  call.not_before = now + PauseAfter(call.attempts);
  return NextStep::kRepeat;
}

// What the answer's headers say of the connection or of its coding is not true of the callback.
http::Headers CallbackHeaders(const CallRecord& call, const CallOutcome& outcome) {
  http::Headers headers;
  if (const auto type = outcome.headers.Find("Content-Type")) {
    headers.Add("Content-Type", *type);
  }
  headers.Add("X-Call-Id", call.call_id);
  headers.Add("X-Function-Name", call.function);
  headers.Add("X-Function-Status", std::to_string(outcome.code));
  if (const auto fault = outcome.headers.Find("Kgpu-Fault")) {
    headers.Add("Kgpu-Fault", *fault);
  }
  return headers;
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
