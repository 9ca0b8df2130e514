#include "src/kube/objects/blocking_client.h"

#include <boost/json.hpp>

#include <algorithm>
#include <utility>

#include "src/kube/api/api_error.h"
#include "src/kube/api/json.h"
#include "src/kube/api/run_until_done.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::kube {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{500};
constexpr milliseconds kLastPause{5'000};
constexpr milliseconds kListTime{30'000};

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

Status ForEachObject(BlockingClient& client, const std::string& path,
                     const std::string& label_selector,
                     const std::function<void(boost::json::value&&)>& use) {
  std::string next;
  do {
    ApiRequest request{.path = path, .query = {{"limit", "500"}}};
    if (!label_selector.empty()) {
      request.query.emplace_back("labelSelector", label_selector);
    }
    if (!next.empty()) {
      request.query.emplace_back("continue", next);
    }
    ASSIGN_OR_RETURN(boost::json::value list, SendUntilReached(client, request, kListTime));
    next = TextField(list, {"metadata", "continue"});
    boost::json::object* fields = list.if_object();
    boost::json::value* items = fields == nullptr ? nullptr : fields->if_contains("items");
    if (items != nullptr && items->is_array()) {
      for (boost::json::value& item : items->get_array()) {
        use(std::move(item));
      }
    }
  } while (!next.empty());
  return OkStatus();
}

StatusOr<std::vector<boost::json::value>> ListAll(BlockingClient& client, const std::string& path,
                                                  const std::string& label_selector) {
  std::vector<boost::json::value> all;
  RETURN_IF_ERROR(ForEachObject(client, path, label_selector, [&](boost::json::value&& item) {
    all.push_back(std::move(item));
  }));
  return all;
}

}  // namespace kgpu::kube
