#include "src/kube/objects/blocking_client.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>

#include "src/kube/api/api_error.h"
#include "src/kube/api/run_until_done.h"

namespace kgpu::kube {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{500};
constexpr milliseconds kLastPause{5'000};

bool MayRecover(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded;
}

}  // namespace

StatusOr<boost::json::value> LoopClient::Send(ApiRequest request) {
  return Fetch(loop_, client_, std::move(request));
}

void LoopClient::Wait(milliseconds time) {
  (void)RunUntilDone<bool>(loop_, [&](auto done) {
    return loop_.After(time, [done = std::move(done)] { done(true); });
  });
}

StatusOr<boost::json::value> SendUntilReached(BlockingClient& client, const ApiRequest& request,
                                              milliseconds time) {
  const SteadyTime until = client.clock().Now() + time;
  for (milliseconds pause = kFirstPause;; pause = std::min(2 * pause, kLastPause)) {
    StatusOr<boost::json::value> answer = client.Send(request);
    const milliseconds asked = RetryAfterOf(answer.status());
    const milliseconds next = std::max(pause, asked);
    if (answer.ok() || !MayRecover(answer.status()) || client.clock().Now() + next > until) {
      return answer;
    }
    client.Wait(next);
  }
}

}  // namespace kgpu::kube
