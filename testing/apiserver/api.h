// A Kubernetes API server without sockets: requests in, responses into sinks.
// docs/how-it-works/stub-apiserver.md lists what it supports and what not.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/message.h"
#include "testing/apiserver/access.h"
#include "testing/apiserver/counters.h"
#include "testing/apiserver/faults.h"
#include "testing/apiserver/pod_logs.h"
#include "testing/apiserver/rbac.h"
#include "testing/apiserver/sink.h"
#include "testing/apiserver/store.h"

namespace kgpu::apiserver {

struct ApiOptions {
  size_t max_history = 10'000;  // changes after which watches can start
  size_t max_watches = 20'000;
  size_t max_body = size_t{3} << 20;
  std::chrono::milliseconds bookmark_interval{60'000};
  std::chrono::milliseconds watch_timeout{1'800'000};  // of a watch that requests none
  std::chrono::milliseconds pod_stop_time{0};
  uint64_t seed = 1;
  // Requests need a rule of RBAC; members of system:masters do not.
  bool has_rbac = false;
};

// Loop thread only. `loop` outlives it.
class Api {
 public:
  explicit Api(EventLoop& loop, ApiOptions options = {});
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  // Handles one request; the response may continue after this returns.
  void Handle(const http::Request& request, const std::shared_ptr<Sink>& sink);

  Faults& faults();
  Counters& counters();
  Access& access();
  Rbac& rbac();
  PodLogs& logs();
  const Store& store() const;

  // Calls `observer` after each change of an object, until it is removed. It must not write.
  uint64_t AddObserver(std::function<void(const Change&)> observer);
  void RemoveObserver(uint64_t id);

  // For tests, outside of requests: forgets the history, so that watches from older versions get
  // 410.
  void Compact();
  // Breaks the connections of all watches, or of those of one resource.
  void CutWatches(std::string_view resource = "");
  void EndWatches(std::string_view resource = "");
  size_t watches() const;
  // A stored object by its path "/api/v1/nodes/n1"; null if there is none.
  StoredPtr Find(std::string_view path) const;
  // All objects but events as one text, without what counts or dates writes: to compare.
  std::string Dump() const;
  // Does what a request of `method` with a JSON body would, as the manager "test"; for test set-up.
  // Not counted. Errors: Failures.
  StatusOr<boost::json::object> Do(std::string_view method, std::string_view target,
                                   const boost::json::value& body);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::apiserver
