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
           std::function<void(const GateEvent&)> tell)
    : loop_(loop),
      options_(options),
      changed_(std::move(changed)),
      tell_(std::move(tell)),
      chain_(CheckChain(facts_)) {
}

Gate::~Gate() {
  loop_.CancelTimer(timer_);
}

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
      told_ = {node.gpu_ready->status == "True", node.gpu_ready->reason, node.gpu_ready->message};
    }
  }
  is_expected_ = is_expected_ || node.gpu_ready.has_value() || HasGateTaint(node);
  facts_.allocatable = node.allocatable;
  Look();
}

void Gate::Look() {
  chain_ = CheckChain(facts_);
  if (!hold_ || !facts_.gpus) {
    return;
  }
  const SteadyTime now = loop_.clock().Now();
  reason_due_.reset();
  GateWish wish = Decide(*hold_, now);
  Arm(*hold_, now);
  if (wish_ == wish) {
    return;
  }
  const std::optional<ConditionText> before = wish_ ? wish_->condition : std::nullopt;
  if (!before || before != wish.condition) {
    reason_since_ = now;
  }
  wish_ = std::move(wish);
  if (const ConditionText* said = Said()) {
    Tell(*said);
  }
  changed_();
}

const ConditionText* Gate::Said() const {
  if (!wish_) {
    return nullptr;
  }
  const std::optional<ConditionText>& condition = wish_->condition;
  return condition ? &*condition : nullptr;
}

GateWish Gate::Decide(Hold& hold, SteadyTime now) {
  const bool is_ready = hold.Look(chain_.has_gpus ? Worst(chain_) : LinkState::kBad, now);
  if (!chain_.has_gpus && !is_expected_ && !is_ready) {
    return {};  // a node that has nothing to do with GPUs
  }
  GateWish wish;
  if (is_ready) {
    wish.taint = GateTaintWish::kLift;
    ConditionText text = ConditionOf(chain_);
    if (!text.is_true) {
      // Less than ready for a moment: what was said stays.
      const ConditionText* said = Said();
      text = said != nullptr && said->is_true ? *said
                                              : ConditionText{true, told_.reason, told_.message};
    }
    wish.condition = std::move(text);
  } else {
    wish.taint = options_.sets_taint ? GateTaintWish::kSet : GateTaintWish::kLeave;
    wish.condition = NotReadyText(now);
  }
  if (!options_.sets_condition) {
    wish.condition.reset();
  }
  return wish;
}

// The newest reason, or the one already told while that is young.
ConditionText Gate::NotReadyText(SteadyTime now) {
  ConditionText text = ConditionOf(chain_);
  if (text.is_true) {
    text = {false, "Recovering",
            "all is well again; the node is ready when it has stayed so for a while"};
  }
  const ConditionText* said = Said();
  const bool was_not_ready = said != nullptr && !said->is_true;
  if (was_not_ready && *said != text && now < reason_since_ + options_.reason_every) {
    reason_due_ = reason_since_ + options_.reason_every;
    return *said;
  }
  return text;
}

void Gate::Tell(const ConditionText& text) {
  const Link* wrong = FirstWrong(chain_);
  // What is only waited for is no news.
  const bool is_news =
      text.is_true != told_.is_true || (!text.is_true && text.reason != told_.reason &&
                                        wrong != nullptr && wrong->state == LinkState::kBad);
  if (!is_news) {
    return;
  }
  const bool was_ever_told = !told_.reason.empty();
  told_ = text;
  if (text.is_true) {
    tell_({false, "GPUReady", text.message});
  } else if (was_ever_told || wrong == nullptr || wrong->state == LinkState::kBad) {
    tell_({true, "GPUNotReady", fmt::format("{}: {}", text.reason, text.message)});
  }
}

void Gate::Arm(const Hold& hold, SteadyTime now) {
  loop_.CancelTimer(std::exchange(timer_, TimerId::kNone));
  std::optional<SteadyTime> next = hold.next();
  if (reason_due_) {
    next = next ? std::min(*next, *reason_due_) : reason_due_;
  }
  if (next) {
    timer_ = loop_.After(*next - now, [this] {
      timer_ = TimerId::kNone;
      Look();
    });
  }
}

}  // namespace kgpu::node
