// The gate: derives the node's GPUReady condition, its taint and events. It writes nothing itself,
// and delays nothing: registration with the kubelet never waits for it.
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
#include "src/platform/base/timer.h"

namespace kgpu::node {

struct GateOptions {
  bool sets_condition = true;
  // Whether to set the taint while the node is not ready. A taint that somebody else has set is
  // removed in any case.
  bool sets_taint = false;
  HoldOptions hold{};
  // Minimum time between reports of the reason while the node is not ready.
  std::chrono::milliseconds reason_every{10'000};
  // When this boot began. An older condition is from an earlier boot, and proves nothing.
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
  // Calls `changed` from the loop when request() has changed, and `tell` for each event. `loop`
  // must outlive the gate.
  Gate(EventLoop& loop, const GateOptions& options, std::function<void()> changed,
       std::function<void(const GateEvent&)> notify);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Leave out `allocatable`: the gate takes it from the node.
  void SetFacts(ChainFacts facts);
  void SetNode(const SeenNode& node);
  // The API server is away: the kubelet cannot report counts until it is back. Call SetNode then,
  // if only with the node as it was.
  void SetNodeUnknown();

  // The current chain, whatever the node reports.
  const Chain& chain() const { return chain_; }
  // Nothing: not decided yet (the node or the PCI bus has not been read); nothing is
  // changed.
  const std::optional<DesiredGate>& desired() const { return desired_; }
  // Whether the node is reported as ready.
  bool is_ready() const { return hold_ && hold_->is_ready(); }

 private:
  void Look();
  DesiredGate Decide(Hold& hold, SteadyTime now);
  ConditionText NotReadyText(SteadyTime now);
  void Notify(const ConditionText& text);
  void Arm(const Hold& hold, SteadyTime now);
  // The condition requested now; null if there is none.
  const ConditionText* Said() const;

  EventLoop& loop_;
  GateOptions options_;
  std::function<void()> changed_;
  std::function<void(const GateEvent&)> notify_;
  ChainFacts facts_;
  Chain chain_;
  std::optional<Hold> hold_;  // once the node is known
  std::optional<DesiredGate> desired_;
  ConditionText reported_;     // of the last event
  bool is_expected_ = false;   // somebody expects GPUs here although there are none
  SteadyTime reason_since_{};  // when the reason in desired_ began
  std::optional<SteadyTime> reason_due_;
  Timer timer_{loop_};
};

}  // namespace kgpu::node
