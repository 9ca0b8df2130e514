#include "src/functions/kubernetes/scale.h"

#include <algorithm>

#include "src/functions/replicas/scaling.h"

namespace kgpu::functions {
namespace {

int64_t Needed(const ScaleFacts& facts) {
  if (facts.is_over_quota) {
    // As they are, while they have calls.
    return facts.calls > 0 ? facts.replicas : 0;
  }
  return NeededReplicas(facts.scaling, facts.concurrency, facts.calls);
}

}  // namespace

void ScaleWindow::Set(int64_t needed, SteadyTime now) {
  while (!past_.empty() && past_.back().needed <= std::max(needed, now_)) {
    past_.pop_back();
  }
  if (now_ > needed) {
    past_.push_back({now_, now});
  }
  now_ = needed;
}

int64_t ScaleWindow::Most(SteadyTime now, std::chrono::nanoseconds within) {
  while (!past_.empty() && past_.front().until + within <= now) {
    past_.pop_front();
  }
  return past_.empty() ? now_ : past_.front().needed;
}

std::optional<SteadyTime> ScaleWindow::NextFall(std::chrono::nanoseconds within) const {
  return past_.empty() ? std::nullopt : std::optional(past_.front().until + within);
}

ScaleVerdict DecideScale(const ScaleFacts& facts, ScaleWindow& window, SteadyTime now) {
  const int64_t needed = Needed(facts);
  window.Set(needed, now);
  if (needed > facts.replicas) {
    return {.replicas = needed};
  }
  const int64_t over = std::max(facts.scaling.min_replicas, facts.scaling.max_replicas);
  const int64_t kept = std::min(window.Most(now, facts.scaling.idle), over);
  if (!facts.may_lower) {
    return {};
  }
  if (facts.is_over_quota && facts.calls == 0 && facts.replicas > 0) {
    return {.replicas = 0};
  }
  if (kept < facts.replicas && !facts.has_pod_without_node) {
    return {.replicas = kept};
  }
  return {.next = window.NextFall(facts.scaling.idle)};
}

}  // namespace kgpu::functions
