#include "src/cluster/controller/executor.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>

#include "src/platform/base/backoff.h"
#include "src/platform/base/log.h"

namespace kgpu::controller {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// So few that a plan that is made meanwhile still decides what comes next.
constexpr size_t kMostAtOnce = 16;
constexpr milliseconds kFirstPause{200};
constexpr seconds kLongestPause{30};

}  // namespace

Executor::Executor(EventLoop& loop, kube::Client& client, Random& random, ExecutorHandlers handlers)
    : loop_(loop), client_(client), random_(random), handlers_(std::move(handlers)) {
}

Executor::~Executor() = default;

void Executor::SetPlan(std::vector<Work> plan) {
  std::ranges::reverse(plan);
  plan_ = std::move(plan);
  const SteadyTime now = loop_.clock().Now();
  std::erase_if(failures_, [now](const auto& one) {
    return now - one.second.until > 2 * nanoseconds(kLongestPause);
  });
  Fill();
}

void Executor::Fill() {
  const SteadyTime now = loop_.clock().Now();
  while (!plan_.empty() && running_.size() < kMostAtOnce) {
    Work work = std::move(plan_.back());
    plan_.pop_back();
    const auto failure = failures_.find(work.key);
    if (failure != failures_.end() && failure->second.until > now) {
      Arm(failure->second.until - now);
    } else if (!running_.contains(work.key)) {
      Begin(std::move(work));
    }
  }
}

void Executor::Begin(Work work) {
  ++counts_.requests;
  const std::string key = work.key;
  Running& running = running_[key];
  running.work = std::move(work);
  const Work& begun = running.work;
  if (begun.eviction) {
    running.call =
        kube::Evict(client_, *begun.eviction,
                    [this, key](StatusOr<kube::EvictionResult> result) { OnEvicted(key, result); });
  } else {
    running.call = client_.Send(begun.request, [this, key](StatusOr<json::value> answer) {
      OnDone(key, std::move(answer));
    });
  }
}

Work Executor::Take(const std::string& key) {
  auto node = running_.extract(key);
  return std::move(node.mapped().work);
}

void Executor::OnDone(const std::string& key, StatusOr<json::value> answer) {
  const Work work = Take(key);
  const StatusCode code = answer.status().code();
  const bool is_known = code == StatusCode::kAlreadyExists || code == StatusCode::kNotFound;
  if (answer.ok() || (work.may_exist && is_known)) {
    failures_.erase(key);
    for (const kube::Event& event : work.events) {
      handlers_.on_event(event);
    }
    if (answer.ok() && work.answer != AnswerKind::kNothing) {
      handlers_.on_answer(work.answer, *std::move(answer));
    }
    if (!answer.ok()) {
      Pause(key, kFirstPause);  // the watch soon brings what exists already
    }
  } else {
    OnFailure(work, answer.status());
  }
  Fill();
  handlers_.on_settled();
}

void Executor::OnEvicted(const std::string& key, const StatusOr<kube::EvictionResult>& result) {
  const Work work = Take(key);
  if (!result.ok()) {
    OnFailure(work, result.status());
  } else if (*result == kube::EvictionResult::kForbidden) {
    ++counts_.blocked;
    Pause(key, kube::kEvictionPause);
  } else {
    // Until the watch says that it terminates.
    Pause(key, kube::kEvictionPause);
    if (*result == kube::EvictionResult::kAccepted) {
      for (const kube::Event& event : work.events) {
        handlers_.on_event(event);
      }
    }
  }
  Fill();
  handlers_.on_settled();
}

void Executor::OnFailure(const Work& work, const Status& status) {
  Failure& failure = failures_[work.key];
  const bool is_conflict = status.code() == StatusCode::kAborted;
  ++(is_conflict ? counts_.conflicts : counts_.failures);
  if (!is_conflict && failure.count == 0) {
    KGPU_LOG(kWarning, "request failed", {"what", work.what}, {"reason", Message(status)});
  }
  nanoseconds pause = kFirstPause;
  if (!is_conflict) {
    handlers_.on_refused(work, status);
    pause = DoublingPause(++failure.count + 1, kFirstPause, kLongestPause);
  }
  Pause(work.key, pause / 2 + random_.PartOf(pause / 2));
}

void Executor::Pause(const std::string& key, nanoseconds pause) {
  failures_[key].until = loop_.clock().Now() + pause;
  Arm(pause);
}

void Executor::Arm(nanoseconds delay) {
  const SteadyTime due = loop_.clock().Now() + delay;
  if (timer_.is_armed() && due_ <= due) {
    return;
  }
  due_ = due;
  timer_.Arm(delay, [this] { handlers_.on_settled(); });
}

}  // namespace kgpu::controller
