#include "src/functions/queue/call_index.h"

#include <algorithm>

namespace kgpu::functions {

void CallIndex::Enter(int64_t number, const IndexedCall& call) {
  Lane& lane = lanes_[call.function];
  switch (call.state) {
    case CallState::kWaiting:
      lane.waiting.insert({call.due, number});
      break;
    case CallState::kRunning:
      ++lane.running;
      running_.insert(number);
      running_bytes_ += call.bytes;
      break;
    case CallState::kDead:
      ++lane.dead;
      dead_.insert(number);
      dead_bytes_ += call.bytes;
      return;
  }
  lane.live.insert({call.arrived, number});
  ++live_;
  live_bytes_ += call.bytes;
}

void CallIndex::Leave(int64_t number, const IndexedCall& call) {
  Lane& lane = lanes_[call.function];
  switch (call.state) {
    case CallState::kWaiting:
      lane.waiting.erase({call.due, number});
      break;
    case CallState::kRunning:
      --lane.running;
      running_.erase(number);
      running_bytes_ -= call.bytes;
      break;
    case CallState::kDead:
      --lane.dead;
      dead_.erase(number);
      dead_bytes_ -= call.bytes;
      return;
  }
  lane.live.erase({call.arrived, number});
  --live_;
  live_bytes_ -= call.bytes;
}

void CallIndex::Add(int64_t number, IndexedCall call) {
  const auto [added, is_new] = calls_.try_emplace(number, std::move(call));
  if (is_new) {
    Enter(number, added->second);
  }
}

const IndexedCall* CallIndex::Find(int64_t number) const {
  const auto found = calls_.find(number);
  return found == calls_.end() ? nullptr : &found->second;
}

void CallIndex::Remove(int64_t number) {
  if (const auto found = calls_.find(number); found != calls_.end()) {
    Leave(number, found->second);
    calls_.erase(found);
  }
}

std::vector<int64_t> CallIndex::RemoveFunction(const std::string& function, WallTime arrived_by) {
  std::vector<int64_t> removed;
  for (const auto& [number, call] : calls_) {
    if (call.function == function && call.arrived <= arrived_by) {
      removed.push_back(number);
    }
  }
  for (const int64_t number : removed) {
    Remove(number);
  }
  if (arrived_by == WallTime::max()) {
    lanes_.erase(function);
  }
  return removed;
}

// A call larger than what is left of the memory waits, unless it would be alone.
bool CallIndex::MayStart(const Lane& lane) const {
  if (lane.waiting.empty() || lane.running >= limits_.running_of_function ||
      running_.size() >= limits_.running) {
    return false;
  }
  const size_t bytes = calls_.at(lane.waiting.begin()->second).bytes;
  return running_.empty() || running_bytes_ + bytes <= limits_.running_bytes;
}

std::optional<int64_t> CallIndex::StartNext(SteadyTime now) {
  const auto is_next = [&](const auto& named) {
    const Lane& lane = named.second;
    return MayStart(lane) && lane.waiting.begin()->first <= now;
  };
  // From the function after the last one, around.
  const auto start = lanes_.upper_bound(last_started_);
  auto found = std::find_if(start, lanes_.end(), is_next);
  if (found == lanes_.end()) {
    found = std::find_if(lanes_.begin(), start, is_next);
    if (found == start) {
      return std::nullopt;
    }
  }
  last_started_ = found->first;
  const int64_t number = found->second.waiting.begin()->second;
  IndexedCall& call = calls_.at(number);
  Leave(number, call);
  call.state = CallState::kRunning;
  Enter(number, call);
  return number;
}

std::optional<SteadyTime> CallIndex::NextDue() const {
  std::optional<SteadyTime> next;
  for (const auto& [name, lane] : lanes_) {
    if (MayStart(lane)) {
      const SteadyTime due = lane.waiting.begin()->first;
      next = next ? std::min(*next, due) : due;
    }
  }
  return next;
}

void CallIndex::Wait(int64_t number, SteadyTime due) {
  if (const auto found = calls_.find(number); found != calls_.end()) {
    Leave(number, found->second);
    found->second.state = CallState::kWaiting;
    found->second.due = due;
    Enter(number, found->second);
  }
}

void CallIndex::CountRetry(int64_t number) {
  if (const IndexedCall* call = Find(number); call != nullptr) {
    ++lanes_[call->function].retries;
  }
}

void CallIndex::Resize(int64_t number, size_t bytes) {
  if (const auto found = calls_.find(number); found != calls_.end()) {
    Leave(number, found->second);
    found->second.bytes = bytes;
    Enter(number, found->second);
  }
}

std::vector<int64_t> CallIndex::Bury(int64_t number) {
  if (const auto found = calls_.find(number); found != calls_.end()) {
    Leave(number, found->second);
    found->second.state = CallState::kDead;
    Enter(number, found->second);
  }
  return DropOldDead();
}

std::vector<int64_t> CallIndex::DropOldDead() {
  std::vector<int64_t> dropped;
  while (dead_.size() > limits_.dead || dead_bytes_ > limits_.dead_bytes) {
    const int64_t oldest = *dead_.begin();
    Remove(oldest);
    dropped.push_back(oldest);
  }
  return dropped;
}

std::set<int64_t> CallIndex::Running() const {
  return running_;
}

std::map<std::string, FunctionCounts> CallIndex::Counts() const {
  std::map<std::string, FunctionCounts> counts;
  for (const auto& [name, lane] : lanes_) {
    counts[name] = {
        .waiting = lane.waiting.size(),
        .running = lane.running,
        .dead = lane.dead,
        .retries = lane.retries,
        .oldest = lane.live.empty() ? std::nullopt : std::optional(lane.live.begin()->first)};
  }
  return counts;
}

}  // namespace kgpu::functions
