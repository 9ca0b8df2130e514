#include "src/functions/queue/test_queue_run.h"

#include <gtest/gtest.h>

#include <boost/json/value.hpp>

#include "testing/status_matchers.h"

namespace kgpu::functions {

void QueueRun::Start() {
  queue.reset();
  held.clear();
  auto started =
      storage_.Maker(loop, limits, index)([this](CallRecord call, CallQueue::Ended ended) {
        attempts.push_back(call);
        const CallOutcome outcome = answer(call);
        if (outcome.code == kHeldAttempt) {
          held.emplace_back(std::move(call), std::move(ended));
        } else {
          ended(outcome);
        }
      });
  ASSERT_TRUE(started.ok()) << started.status();
  queue = *std::move(started);
}

// Time stands still while a server has something to say.
bool QueueRun::Until(const std::function<bool()>& holds) const {
  for (int i = 0; i < 5'000 && !holds(); ++i) {
    loop.RunUntilIdle();
    if (!loop.WaitForDescriptor(std::chrono::milliseconds(2))) {
      loop.Advance(std::chrono::milliseconds(50));
    }
  }
  return holds();
}

StatusOr<std::string> QueueRun::Put(CallRecord call) const {
  std::optional<StatusOr<std::string>> accepted;
  queue->Put(std::move(call), [&](const StatusOr<std::string>& id) { accepted = id; });
  EXPECT_TRUE(Until([&] { return accepted.has_value(); }));
  return accepted ? *accepted : Internal("no end");
}

boost::json::object QueueRun::List(const CallSelection& selection) const {
  std::optional<boost::json::object> listed;
  queue->List(selection, [&](const StatusOr<boost::json::object>& list) {
    EXPECT_TRUE(list.ok()) << list.status();
    listed = list.ok() ? *list : boost::json::object();
  });
  EXPECT_TRUE(Until([&] { return listed.has_value(); }));
  return listed.value_or(boost::json::object());
}

std::string QueueRun::States() const {
  std::string text;
  const boost::json::object list = List();
  for (const boost::json::value& call : list.at("calls").as_array()) {
    text += text.empty() ? "" : " ";
    text += call.at("id").as_string().c_str();
    text += ":";
    text += call.at("state").as_string().c_str();
  }
  return text;
}

size_t QueueRun::Change(bool is_retry, const ChangeRequest& request) const {
  std::optional<size_t> changed;
  queue->Change(request, is_retry,
                [&](const StatusOr<size_t>& count) { changed = count.value_or(999); });
  EXPECT_TRUE(Until([&] { return changed.has_value(); }));
  return changed.value_or(999);
}

std::vector<std::string> QueueRun::AttemptIds() const {
  std::vector<std::string> ids;
  ids.reserve(attempts.size());
  for (const CallRecord& call : attempts) {
    ids.push_back(call.call_id);
  }
  return ids;
}

CallRecord HelloCall(const std::string& id, int64_t retries) {
  CallRecord call{.call_id = id, .function = "hello", .method = "POST", .target = "/x"};
  call.headers = {{"Accept", "y"}};
  call.body = "input of " + id;
  call.retries = retries;
  return call;
}

CallbackServer::CallbackServer(EventLoop& loop)
    : server(loop, [this](const http::Request& request, const http::Responder& responder) {
        got.push_back(request);
        responder.Send(http::TextResponse(code, ""));
      }) {
  const auto listening = server.Listen("127.0.0.1:0");
  EXPECT_TRUE(listening.ok());
  url = "http://" + *listening + "/done";
}

}  // namespace kgpu::functions
