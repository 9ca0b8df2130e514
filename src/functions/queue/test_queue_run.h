// A queue in a test, with functions that answer as the test says. Its storage is given.
#pragma once

#include <boost/json/object.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/functions/queue/call_queue.h"
#include "src/functions/queue/call_rules.h"
#include "src/platform/net/http/server.h"
#include "testing/fake_loop.h"

namespace kgpu::functions {

inline constexpr int kHeldAttempt = 0;  // code of an attempt that does not end by itself

// Where queues keep their calls; it outlives them.
class QueueStorage {
 public:
  virtual ~QueueStorage() = default;
  virtual QueueMaker Maker(EventLoop& loop, const CallLimits& limits, const IndexLimits& index) = 0;
};

class QueueRun {
 public:
  // `storage` must outlive it; `loop` too, if it is given: several queues may share one.
  explicit QueueRun(QueueStorage& storage, FakeLoop* shared_loop = nullptr)
      : storage_(storage),
        own_loop_(shared_loop == nullptr ? std::make_unique<FakeLoop>() : nullptr),
        loop(shared_loop == nullptr ? *own_loop_ : *shared_loop) {}
  ~QueueRun() { queue.reset(); }

  // Also after another queue, which ends first.
  void Start();
  // Lets time pass until `holds`; gives up after some minutes of it.
  bool Until(const std::function<bool()>& holds) const;
  // The id, or the error.
  StatusOr<std::string> Put(CallRecord call) const;
  boost::json::object List(const CallSelection& selection = {}) const;
  // "a:waiting b:dead".
  std::string States() const;
  size_t Change(bool is_retry, const ChangeRequest& request) const;
  std::vector<std::string> AttemptIds() const;

 private:
  QueueStorage& storage_;
  std::unique_ptr<FakeLoop> own_loop_;

 public:
  FakeLoop& loop;
  CallLimits limits;
  IndexLimits index;
  std::function<CallOutcome(const CallRecord&)> answer = [](const CallRecord&) {
    return CallOutcome{.code = 200};
  };
  std::vector<CallRecord> attempts;
  std::vector<std::pair<CallRecord, CallQueue::Ended>> held;
  std::unique_ptr<CallQueue> queue;
};

CallRecord HelloCall(const std::string& id, int64_t retries = 0);

// Gets callbacks.
struct CallbackServer {
  explicit CallbackServer(EventLoop& loop);

  int code = 200;
  std::string url;
  std::vector<http::Request> got;
  http::Server server;
};

}  // namespace kgpu::functions
