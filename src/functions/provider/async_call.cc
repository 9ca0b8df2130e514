#include "src/functions/provider/async_call.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "src/platform/base/log.h"

namespace kgpu::functions {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kMaxUnderWay = 1'000;
constexpr size_t kMaxBytes = size_t{256} << 20;
constexpr milliseconds kFirstRetry = seconds(1);
constexpr milliseconds kLongestRetry = std::chrono::minutes(2);
// What may succeed when it is tried again; as in OpenFaaS.
constexpr std::array<int, 7> kRetriedCodes = {408, 429, 500, 502, 503, 504, kCallerLeft};

}  // namespace

struct AsyncCalls::Job {
  std::string function;
  http::Request request;
  std::string call_id;
  int64_t retries_left = 0;
  milliseconds pause = kFirstRetry;
  std::shared_ptr<Load> load;  // has this one until it is gone

  Job(std::shared_ptr<Load> counted, http::Request sent)
      : request(std::move(sent)), load(std::move(counted)) {
    ++load->calls;
    load->bytes += request.body.size();
  }
  ~Job() {
    --load->calls;
    load->bytes -= request.body.size();
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
};

// Drops the answer and remembers its code; reports at its destruction, whatever has happened.
class AsyncCalls::Sink final : public CallSink {
 public:
  explicit Sink(std::function<void(int code)> ended) : ended_(std::move(ended)) {}
  ~Sink() override { ended_(has_ended_ ? code_ : std::max(code_, kCutOff)); }

  bool is_open() const override { return true; }
  void Refuse(const CallFault& fault) override {
    code_ = fault.code;
    has_ended_ = true;
  }
  void Head(int code, const http::Headers&) override { code_ = code; }
  bool Data(std::string_view) override { return true; }
  void End() override { has_ended_ = true; }

 private:
  static constexpr int kCutOff = 502;
  const std::function<void(int)> ended_;
  int code_ = 0;
  bool has_ended_ = false;
};

AsyncCalls::AsyncCalls(EventLoop& loop, Take take)
    : loop_(loop),
      take_(std::move(take)),
      load_(std::make_shared<Load>()),
      is_alive_(std::make_shared<bool>(true)) {
}

bool AsyncCalls::Start(const std::string& function, http::Request request,
                       const std::string& call_id, int64_t retries) {
  if (load_->calls >= kMaxUnderWay || load_->bytes + request.body.size() > kMaxBytes) {
    return false;
  }
  const auto job = std::make_shared<Job>(load_, std::move(request));
  job->function = function;
  job->call_id = call_id;
  job->retries_left = retries;
  Try(job);
  return true;
}

void AsyncCalls::Try(const std::shared_ptr<Job>& job) {
  // The sink ends within a pool: what follows is done from the loop.
  auto ended = [this, job, is_alive = std::weak_ptr<bool>(is_alive_)](int code) {
    if (is_alive.expired()) {
      return;
    }
    loop_.Post([this, job, is_alive, code] {
      if (!is_alive.expired()) {
        OnEnd(job, code);
      }
    });
  };
  FunctionCall call{.request = job->request,
                    .call_id = job->call_id,
                    .sink = std::make_unique<Sink>(std::move(ended)),
                    .arrived = loop_.clock().Now()};
  if (!take_(job->function, call)) {
    job->retries_left = 0;  // it was deleted
  }
}

void AsyncCalls::OnEnd(const std::shared_ptr<Job>& job, int code) {
  const bool may_succeed = std::ranges::find(kRetriedCodes, code) != kRetriedCodes.end();
  if (!may_succeed || job->retries_left == 0) {
    KGPU_LOG(kInfo, "asynchronous call ended", {"function", job->function}, {"call", job->call_id},
             {"code", code});
    return;
  }
  --job->retries_left;
  loop_.After(job->pause, [this, job, is_alive = std::weak_ptr<bool>(is_alive_)] {
    if (!is_alive.expired()) {
      Try(job);
    }
  });
  job->pause = std::min(job->pause * 2, kLongestRetry);
}

}  // namespace kgpu::functions
