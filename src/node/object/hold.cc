#include "src/node/object/hold.h"

#include <algorithm>

namespace kgpu::node {
namespace {

// Enough doublings for any pair of delays.
constexpr size_t kMaxLosses = 16;

}  // namespace

Hold::Hold(const HoldOptions& options, bool was_ready) : options_(options), is_ready_(was_ready) {
}

bool Hold::Look(LinkState worst, SteadyTime now) {
  next_.reset();
  return is_ready_ ? LookWhileReady(worst, now) : LookWhileNotReady(worst, now);
}

bool Hold::LookWhileReady(LinkState worst, SteadyTime now) {
  if (worst == LinkState::kOk) {
    wrong_since_.reset();
    bad_since_.reset();
    return true;
  }
  wrong_since_ = wrong_since_.value_or(now);
  SteadyTime end = *wrong_since_ + options_.waiting_grace;
  if (worst == LinkState::kBad) {
    bad_since_ = bad_since_.value_or(now);
    end = std::min(end, *bad_since_ + options_.bad_grace);
  } else {
    bad_since_.reset();
  }
  if (now < end) {
    next_ = end;
    return true;
  }
  is_ready_ = false;
  wrong_since_.reset();
  bad_since_.reset();
  healthy_since_.reset();
  losses_.push_back(now);
  if (losses_.size() > kMaxLosses) {
    losses_.pop_front();
  }
  return false;
}

bool Hold::LookWhileNotReady(LinkState worst, SteadyTime now) {
  if (worst != LinkState::kOk) {
    healthy_since_.reset();
    return false;
  }
  healthy_since_ = healthy_since_.value_or(now);
  const SteadyTime end = *healthy_since_ + ReturnDelay(now);
  if (now < end) {
    next_ = end;
    return false;
  }
  is_ready_ = true;
  return true;
}

std::chrono::milliseconds Hold::ReturnDelay(SteadyTime now) {
  while (!losses_.empty() && losses_.front() + options_.memory <= now) {
    losses_.pop_front();
  }
  std::chrono::milliseconds delay{0};
  for (size_t i = 0; i < losses_.size(); ++i) {
    delay = i == 0 ? options_.first_return : std::min(delay * 2, options_.last_return);
  }
  return delay;
}

}  // namespace kgpu::node
