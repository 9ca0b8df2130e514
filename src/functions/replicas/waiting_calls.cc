#include "src/functions/replicas/waiting_calls.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

namespace kgpu::functions {
namespace {

constexpr size_t kMaxWaiting = 1'000;
constexpr size_t kMaxWaitingBytes = size_t{256} << 20;
constexpr int kTooManyCode = 429;
constexpr int kNoReplicaCode = 503;
constexpr int kDeadlineCode = 504;
constexpr std::chrono::seconds kAgainSoon{1};

size_t BytesOfCall(const FunctionCall& call) {
  return call.request.body.size() + call.request.target.size();
}

CallFault ExpiredFault(const FunctionCall& call, SteadyTime now) {
  if (call.deadline && *call.deadline <= now) {
    return {kDeadlineCode, "timeout",
            "the caller's deadline passed while the call waited for a replica"};
  }
  return {kNoReplicaCode, "no-replica", "no replica became free in time", kAgainSoon};
}

}  // namespace

void WaitingCalls::Add(FunctionCall call, SteadyTime deadline) {
  const size_t bytes = BytesOfCall(call);
  if (calls_.size() >= kMaxWaiting || bytes_ + bytes > kMaxWaitingBytes) {
    return refuse_(call,
                   {kTooManyCode, "overload", "too many calls wait for a replica", kAgainSoon});
  }
  bytes_ += bytes;
  next_deadline_ = std::min(next_deadline_.value_or(deadline), deadline);
  calls_.push_back(Watched(std::move(call), deadline, bytes));
}

void WaitingCalls::PutBack(FunctionCall call, SteadyTime deadline) {
  const size_t bytes = BytesOfCall(call);
  bytes_ += bytes;
  next_deadline_ = std::min(next_deadline_.value_or(deadline), deadline);
  calls_.push_front(Watched(std::move(call), deadline, bytes));
}

WaitingCalls::Waiting WaitingCalls::Watched(FunctionCall call, SteadyTime deadline, size_t bytes) {
  auto has_left = std::make_shared<bool>(false);
  call.sink->OnGone([has_left, left = std::weak_ptr<std::function<void()>>(left_)] {
    *has_left = true;
    if (const auto call_left = left.lock()) {
      (*call_left)();
    }
  });
  return {std::move(call), deadline, bytes, std::move(has_left)};
}

void WaitingCalls::HandOver(const std::function<bool(FunctionCall& call)>& hand_over) {
  while (!calls_.empty()) {
    Waiting next = Pop();
    if (!next.is_open()) {
      refuse_(next.call, {kCallerLeft, "caller", "the caller left"});
    } else if (!hand_over(next.call)) {
      bytes_ += next.bytes;
      calls_.push_front(std::move(next));
      return;
    }
  }
  next_deadline_.reset();
}

void WaitingCalls::DropLeft() {
  std::deque<Waiting> all;
  all.swap(calls_);
  for (Waiting& waiting : all) {
    if (waiting.is_open()) {
      calls_.push_back(std::move(waiting));
    } else {
      bytes_ -= waiting.bytes;
      refuse_(waiting.call, {kCallerLeft, "caller", "the caller left"});
    }
  }
}

void WaitingCalls::RefuseExpired(SteadyTime now) {
  if (!next_deadline_ || *next_deadline_ > now) {
    return;
  }
  const auto expired =
      std::stable_partition(calls_.begin(), calls_.end(),
                            [now](const Waiting& waiting) { return waiting.deadline > now; });
  std::vector<Waiting> refused(std::make_move_iterator(expired),
                               std::make_move_iterator(calls_.end()));
  calls_.erase(expired, calls_.end());
  const auto next = std::ranges::min_element(calls_, {}, &Waiting::deadline);
  next_deadline_ = next == calls_.end() ? std::nullopt : std::optional(next->deadline);
  for (Waiting& waiting : refused) {
    bytes_ -= waiting.bytes;
    refuse_(waiting.call, ExpiredFault(waiting.call, now));
  }
}

void WaitingCalls::RefuseUntil(SteadyTime arrived, const CallFault& fault) {
  while (!calls_.empty() && calls_.front().call.arrived <= arrived) {
    Waiting refused = Pop();
    refuse_(refused.call, fault);
  }
}

void WaitingCalls::RefuseAll(const CallFault& fault) {
  std::deque<Waiting> refused;
  refused.swap(calls_);
  bytes_ = 0;
  next_deadline_.reset();
  for (Waiting& waiting : refused) {
    refuse_(waiting.call, fault);
  }
}

WaitingCalls::Waiting WaitingCalls::Pop() {
  Waiting popped = std::move(calls_.front());
  calls_.pop_front();
  bytes_ -= popped.bytes;
  return popped;
}

}  // namespace kgpu::functions
