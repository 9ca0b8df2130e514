// Calls of the Kubernetes API: requests and watches, within the limits that a good client keeps.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::kube {

struct ApiRequest {
  std::string method = "GET";
  std::string path{};  // "/api/v1/nodes/n1": each name in it escaped (PathOf in query.h)
  std::vector<std::pair<std::string, std::string>> query{};  // not escaped
  std::string content_type{};                                // of the body
  std::string body{};
  // From when it is first sent, with all repetitions, to the end of the answer; of a stream: to
  // its beginning. Time spent behind our own rate limit is not counted.
  std::chrono::milliseconds timeout{30'000};
  // Whether it is sent again as HttpClient says; false for those who have a back-off of their own:
  // two of them in one another would make requests of many nodes keep step.
  bool is_repeated = true;
};

// A request on its way. Destroying it gives it up: nothing is called any more.
class Call {
 public:
  virtual ~Call() = default;
};

enum class WatchEventType : uint8_t { kAdded, kModified, kDeleted, kBookmark };

struct StreamHandlers {
  // Once, when the server has taken the watch on.
  std::function<void()> on_begin{};
  // The object is the handler's.
  std::function<void(WatchEventType, boost::json::value&&)> on_event{};
  // Once, at the end: OK when the server ended the watch as it does every few minutes.
  std::function<void(Status)> on_end{};
};

// Loop thread only; outlives its calls. Nothing is called from Send or Stream themselves; every
// handler may destroy its call.
class Client {
 public:
  // The object that the server answered; null for an answer without a body. Errors: as
  // StatusOfAnswer in api_error.h says, with ApiErrorOf to tell more. Without it: Unavailable when
  // the server was not reached or the answer broke off: a write may have been done then;
  // DeadlineExceeded, the same; FailedPrecondition (credentials or certificates that will not do);
  // ResourceExhausted (too many calls wait here); OutOfRange (the answer is larger than we take).
  using Done = std::function<void(StatusOr<boost::json::value>)>;

  virtual ~Client() = default;
  virtual std::unique_ptr<Call> Send(ApiRequest request, Done done) = 0;
  // A watch: the frames of an answer without end.
  virtual std::unique_ptr<Call> Stream(ApiRequest request, StreamHandlers handlers) = 0;
};

}  // namespace kgpu::kube
