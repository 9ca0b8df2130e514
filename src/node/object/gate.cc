#include "src/node/object/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace kgpu::node {
namespace {

bool HasGateTaint(const SeenNode& node) {
  return std::ranges::any_of(node.taints,
                             [](const SeenTaint& seen) { return seen.taint.key == kGateTaintKey; });
}

// The API's times have whole seconds.
bool IsOfThisBoot(const SeenCondition& condition, WallTime booted) {
  return condition.since >= std::chrono::floor<std::chrono::seconds>(booted);
}

}  // namespace

Gate::Gate(EventLoop& loop, const GateOptions& options, std::function<void()> changed,
           std::function<void(const GateEvent&)> notify)
    : loop_(loop),
      options_(options),
      changed_(std::move(changed)),
      notify_(std::move(notify)),
      chain_(CheckChain(facts_)) {
}

Gate::~Gate() = default;

void Gate::SetFacts(ChainFacts facts) {
  facts.allocatable = std::move(facts_.allocatable);
  facts_ = std::move(facts);
  Look();
}

void Gate::SetNode(const SeenNode& node) {
  if (!hold_) {
    const bool was_ready = node.gpu_ready && node.gpu_ready->status == "True" &&
                           IsOfThisBoot(*node.gpu_ready, options_.booted);
    hold_.emplace(options_.hold, was_ready);
    if (node.gpu_ready) {
      reported_ = {node.gpu_ready->status == "True", node.gpu_ready->reason,
                   node.gpu_ready->message};
    }
  }
  is_expected_ = is_expected_ || node.gpu_ready.has_value() || HasGateTaint(node);
  facts_.allocatable = node.allocatable;
  Look();
}

// A node that was not ready remains so: nothing new is known.
void Gate::SetNodeUnknown() {
  if (is_ready()) {
    facts_.allocatable.reset();
    Look();
  }
}

void Gate::Look() {
  chain_ = CheckChain(facts_);
  if (!hold_ || !facts_.gpus) {
    return;
  }
  const SteadyTime now = loop_.clock().Now();
  reason_due_.reset();
  DesiredGate desired = Decide(*hold_, now);
  Arm(*hold_, now);
  if (desired_ == desired) {
    return;
  }
  const std::optional<ConditionText> before = desired_ ? desired_->condition : std::nullopt;
  if (!before || before != desired.condition) {
    reason_since_ = now;
  }
  desired_ = std::move(desired);
  if (const ConditionText* said = Said()) {
    Notify(*said);
  }
  changed_();
}

const ConditionText* Gate::Said() const {
  if (!desired_) {
    return nullptr;
  }
  const std::optional<ConditionText>& condition = desired_->condition;
  return condition ? &*condition : nullptr;
}

DesiredGate Gate::Decide(Hold& hold, SteadyTime now) {
  const bool is_ready = hold.Look(chain_.has_gpus ? Worst(chain_) : LinkState::kBad, now);
  if (!chain_.has_gpus && !is_expected_ && !is_ready) {
    return {};  // a node that has nothing to do with GPUs
  }
  DesiredGate desired;
  if (is_ready) {
    desired.taint = DesiredTaint::kLift;
    ConditionText text = ConditionOf(chain_);
    if (!text.is_true) {
      // Less than ready for a moment: what was said stays.
      const ConditionText* said = Said();
      text = said != nullptr && said->is_true
                 ? *said
                 : ConditionText{true, reported_.reason, reported_.message};
    }
    desired.condition = std::move(text);
  } else {
    desired.taint = options_.sets_taint ? DesiredTaint::kSet : DesiredTaint::kLeave;
    desired.condition = NotReadyText(now);
  }
  if (!options_.sets_condition) {
    desired.condition.reset();
  }
  return desired;
}

// The newest reason, or the one already reported while that is young.
ConditionText Gate::NotReadyText(SteadyTime now) {
  ConditionText text = ConditionOf(chain_);
  if (text.is_true) {
    text = {false, "Recovering",
            "all checks pass again; the node is ready once they keep passing for a while"};
  }
  const ConditionText* said = Said();
  const bool was_not_ready = said != nullptr && !said->is_true;
  if (was_not_ready && *said != text && now < reason_since_ + options_.reason_every) {
    reason_due_ = reason_since_ + options_.reason_every;
    return *said;
  }
  return text;
}

void Gate::Notify(const ConditionText& text) {
  const Link* wrong = FirstWrong(chain_);
  // Conditions that are only waited for are not reported.
  const bool is_event =
      text.is_true != reported_.is_true || (!text.is_true && text.reason != reported_.reason &&
                                            wrong != nullptr && wrong->state == LinkState::kBad);
  if (!is_event) {
    return;
  }
  const bool was_ever_reported = !reported_.reason.empty();
  reported_ = text;
  if (text.is_true) {
    notify_({false, "GPUReady", text.message});
  } else if (was_ever_reported || wrong == nullptr || wrong->state == LinkState::kBad) {
    notify_({true, "GPUNotReady", fmt::format("{}: {}", text.reason, text.message)});
  }
}

void Gate::Arm(const Hold& hold, SteadyTime now) {
  timer_.Cancel();
  std::optional<SteadyTime> next = hold.next();
  if (reason_due_) {
    next = next ? std::min(*next, *reason_due_) : reason_due_;
  }
  if (next) {
    timer_.Arm(*next - now, [this] { Look(); });
  }
}

}  // namespace kgpu::node
