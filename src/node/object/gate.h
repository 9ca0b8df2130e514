// The gate: from what is known of the node to its GPUReady condition, its taint, and events. Writes
// nothing itself, and holds nothing up: registration with the kubelet never waits for it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "src/node/object/chain.h"
#include "src/node/object/hold.h"
#include "src/node/object/node_plan.h"
#include "src/node/object/seen_node.h"
#include "src/platform/base/event_loop.h"

namespace kgpu::node {

struct GateOptions {
  bool sets_condition = true;
  // Whether the taint is set while the node is not ready. One that somebody else has set is lifted
  // in any case.
  bool sets_taint = false;
  HoldOptions hold{};
  // While the node is not ready its reason is reported no more often than this.
  std::chrono::milliseconds reason_every{10'000};
  // When this boot began. A condition that is older is of the boot before, and proves nothing.
  WallTime booted{};
};

struct GateEvent {
  bool is_warning = false;
  std::string reason;  // GPUReady, GPUNotReady
  std::string note;
};

// Lives on the loop's thread.
class Gate {
 public:
  // `changed` is called from the loop when request() has changed, `tell` for each event. `loop`
  // outlives the gate.
  Gate(EventLoop& loop, const GateOptions& options, std::function<void()> changed,
       std::function<void(const GateEvent&)> notify);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Without `allocatable`: the gate takes that from the node.
  void SetFacts(ChainFacts facts);
  void SetNode(const SeenNode& node);

  // The chain as it is now, whatever is said of it outwardly.
  const Chain& chain() const { return chain_; }
  // Nothing: not decided yet (the node or the PCI bus has not been looked at), all is left as it
  // is.
  const std::optional<DesiredGate>& desired() const { return desired_; }
  // What the node is called outwardly.
  bool is_ready() const { return hold_ && hold_->is_ready(); }

 private:
  void Look();
  DesiredGate Decide(Hold& hold, SteadyTime now);
  ConditionText NotReadyText(SteadyTime now);
  void Notify(const ConditionText& text);
  void Arm(const Hold& hold, SteadyTime now);
  // The condition that is asked for now; null when there is none.
  const ConditionText* Said() const;

  EventLoop& loop_;
  GateOptions options_;
  std::function<void()> changed_;
  std::function<void(const GateEvent&)> notify_;
  ChainFacts facts_;
  Chain chain_;
  std::optional<Hold> hold_;  // since the node is known
  std::optional<DesiredGate> desired_;
  ConditionText reported_;     // the last event
  bool is_expected_ = false;   // somebody counts on GPUs here though there is none
  SteadyTime reason_since_{};  // of the reason in desired_
  std::optional<SteadyTime> reason_due_;
  TimerId timer_ = TimerId::kNone;
};

}  // namespace kgpu::node
