// Calls to the Kubernetes API: requests and watches, within the limits of a well-behaved client.
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
  // From the first sending, over all retries, to the end of the response; for a stream: to its
  // start. Waiting for our own rate limit does not count.
  std::chrono::milliseconds timeout{30'000};
  // Whether it is retried as HttpClient says; false for callers with a back-off of their own: two
  // nested back-offs would make the requests of many nodes keep step.
  bool is_repeated = true;
};

// A request in progress. Destroying it cancels it: no handler is called any more.
class Call {
 public:
  virtual ~Call() = default;
};

enum class WatchEventType : uint8_t { kAdded, kModified, kDeleted, kBookmark };

struct StreamHandlers {
  // Once, when the server has accepted the watch.
  std::function<void()> on_begin{};
  // The handler may take the object.
  std::function<void(WatchEventType, boost::json::value&&)> on_event{};
  // Instead of events: the bytes of a response that is text, such as a pod's log, as they come.
  std::function<void(std::string_view)> on_text{};
  // Once, at the end: OK if the server ended the watch, which it does every few minutes.
  std::function<void(Status)> on_end{};
};

// Loop thread only; must outlive its calls. Send and Stream call no handler themselves; every
// handler may destroy its call.
class Client {
 public:
  // The object in the server's response; null for a response without a body. Errors: as
  // StatusOfAnswer in api_error.h, with details by ApiErrorOf. Without an ApiError: Unavailable
  // (not reached, or the response broke off: a write may have happened); DeadlineExceeded (the
  // same); FailedPrecondition (unusable credentials or certificates); ResourceExhausted (too many
  // calls wait here); OutOfRange (the response is over our limit).
  using Done = std::function<void(StatusOr<boost::json::value>)>;

  virtual ~Client() = default;
  virtual std::unique_ptr<Call> Send(ApiRequest request, Done done) = 0;
  // A watch: the frames of an endless response. With on_text: a text.
  virtual std::unique_ptr<Call> Stream(ApiRequest request, StreamHandlers handlers) = 0;
};

}  // namespace kgpu::kube
