// A call of a function on its way: what was asked, and where the answer goes.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/message.h"
#include "src/platform/net/http/server.h"

namespace kgpu::functions {

// The word in the header Kgpu-Fault of a failed call: whose failure it is.
inline constexpr char kFaultHeader[] = "Kgpu-Fault";
inline constexpr char kCallIdHeader[] = "X-Call-Id";
// How many milliseconds the caller waits, from 1 to 86,400,000.
inline constexpr char kDeadlineHeader[] = "X-Deadline-Ms";

// The code of a call whose caller left, in metrics only. Source: nginx.
inline constexpr int kCallerLeft = 499;

struct CallFault {
  int code = 500;
  std::string_view fault;  // "no-gpu", "start", "overload", …
  std::string text;
  std::optional<std::chrono::seconds> retry_after{};
};

// Where the answer of one call goes. Head is called at most once, then Data, then End; or Refuse
// alone.
class CallSink {
 public:
  virtual ~CallSink() = default;
  // Whether somebody still waits.
  virtual bool is_open() const = 0;
  virtual void Refuse(const CallFault& fault) = 0;
  virtual void Head(int code, const http::Headers& headers) = 0;
  // False if the caller is gone, or too slow.
  virtual bool Data(std::string_view bytes) = 0;
  // Without it, the answer was cut off.
  virtual void End() = 0;
  // Whether the caller is so far behind that more of the answer should wait.
  virtual bool is_behind() const { return false; }
  // Calls `task` once, from the loop, when the caller has taken what it got, or is gone.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): who overrides it keeps the task
  virtual void OnDrained(std::function<void()> /*task*/) {}
  // Calls `task` once, from the loop, if the caller leaves before it has the whole answer.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): who overrides it keeps the task
  virtual void OnGone(std::function<void()> /*task*/) {}
};

// Answers a request of the service: in one piece, with its length, if it is small.
class HttpSink final : public CallSink {
 public:
  // `buffer`: see ServiceOptions::answer_buffer.
  // `is_head`: the answer has no body, whatever its length says.
  HttpSink(http::Responder responder, std::string call_id, size_t buffer, bool is_head = false)
      : responder_(std::move(responder)),
        call_id_(std::move(call_id)),
        buffer_(buffer),
        is_head_(is_head) {}

  // The caller of a small answer that is cut off hears so.
  ~HttpSink() override;
  HttpSink(const HttpSink&) = delete;
  HttpSink& operator=(const HttpSink&) = delete;

  bool is_open() const override;
  void Refuse(const CallFault& fault) override;
  void Head(int code, const http::Headers& headers) override;
  bool Data(std::string_view bytes) override;
  void End() override;
  bool is_behind() const override { return stream_ && stream_->pending() > buffer_; }
  void OnDrained(std::function<void()> task) override;
  void OnGone(std::function<void()> task) override { responder_.OnGone(std::move(task)); }

 private:
  const http::Responder responder_;
  const std::string call_id_;
  const size_t buffer_;
  const bool is_head_;
  std::optional<http::Response> small_;  // an answer that is kept until its end
  std::optional<http::Stream> stream_;
};

struct FunctionCall {
  http::Request request{};  // as the watchdog gets it
  std::string call_id{};
  std::unique_ptr<CallSink> sink{};
  SteadyTime arrived{};
  std::optional<SteadyTime> deadline{};  // how long the caller waits
};

// `request` as it is passed on, with its body, which is taken from it: without the fields that
// concern one connection only, with `target` as its target, and with its call's id.
http::Request PassedOn(http::Request& request, std::string target, const std::string& call_id);
// The same for the fields of a response.
http::Headers EndToEnd(const http::Headers& headers);

// How long the caller waits; nothing: it does not say. Errors: InvalidArgument.
StatusOr<std::optional<std::chrono::milliseconds>> CallerPatience(const http::Request& request);

// Whether `id` may be a call's: up to 128 letters, digits, "-", "_", "." and ":".
bool IsCallId(std::string_view id);

}  // namespace kgpu::functions
