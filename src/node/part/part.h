// A part of the agent: one feature, in the module of its feature. The agent keeps the parts in one
// list and folds the state of the node through it after each change; docs/architecture.md has the
// order of the list and the reasons for it.
#pragma once

#include <boost/json/object.hpp>

#include <functional>
#include <string>
#include <vector>

#include "src/gpu/device/sample.h"
#include "src/kube/api/event_recorder.h"
#include "src/node/part/node_state.h"
#include "src/node/part/status_page.h"
#include "src/node/pools/assignment.h"
#include "src/platform/metrics/exposition.h"
#include "src/platform/net/http/message.h"

namespace kgpu::node {

// The effects that a part may have on the rest of the agent, and its view of the node. Loop thread
// only; not to be called from a constructor of a part. Outlives all parts.
class Effects {
 public:
  Effects() = default;
  Effects(const Effects&) = delete;
  Effects& operator=(const Effects&) = delete;
  virtual ~Effects() = default;

  virtual NodeState now() const = 0;
  // Folds the parts' Assign and shows the kubelet the result, at once.
  virtual void AssignAgain() = 0;
  // Shows the kubelet the present assignment: the answers to its calls have changed.
  virtual void ShowAgain() = 0;
  // Calls Update of all parts.
  virtual void UpdateAgain() = 0;
  // Sets again how often to measure.
  virtual void MeasureAgain() = 0;
  // Figures that pages of series show have changed.
  virtual void FiguresChanged() = 0;
  // Asks the kubelet soon which pods have which devices.
  virtual void LookAtPods() = 0;
  // Writes an event about the node or one of its pods.
  virtual void Notify(kube::Event event) = 0;
};

// The devices as the parts, in the order of the list, have left them so far.
struct Draft {
  pools::Assignment fresh{};  // to be shown
  // Slots of devices that change once nobody uses them: not shown, but perhaps in use.
  pools::Assignment held{};
};

// The state that an earlier agent saved; empty if there was none in this boot.
struct SavedState {
  // As the kubelet was shown it. Only its resources and local pools, and nothing if it was made
  // from another configuration.
  pools::Assignment assignment{};
  // Then the resources are here: pods may still use their slots.
  std::vector<pools::Resource> outdated{};
  boost::json::object fields{};  // as the parts saved them
};

// Lives on the loop's thread. Every function is optional.
class Part {
 public:
  using Send = std::function<void(http::Response)>;

  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  // Withdraws, marks or cuts devices of the draft. `state` has a snapshot and a configuration, and
  // the assignment from before.
  virtual void Assign(const NodeState& /*state*/, Draft& /*draft*/) {}
  // Only the health of devices has changed: marks the slots that this part makes unhealthy.
  virtual void MarkHealth(pools::Assignment& /*shown*/) const {}
  // The kubelet has been shown `state`'s assignment, a new one.
  virtual void OnShown(const NodeState& /*state*/) {}
  // Something else than the assignment may have changed.
  virtual void Update(const NodeState& /*state*/) {}
  // A round of samples; the owners of their processes are known, or took too long. `state` has a
  // snapshot.
  virtual void OnSample(const NodeState& /*state*/, const device::SampleSetPtr& /*samples*/) {}
  // Adds what users of the Node object should know.
  virtual void Remark(std::vector<std::string>& /*remarks*/) const {}
  // Adds what users of this host should know.
  virtual void ShowStatus(const NodeState& /*state*/, StatusPage& /*page*/) const {}
  // Writes the part's families of telemetry::kOwnSeries.
  virtual void WriteSeries(const NodeState& /*state*/, metrics::Exposition& /*page*/) const {}
  // Answers a request on agent.sock, now or later; false: it is for another part.
  virtual bool Answer(const http::Request& /*request*/, const Send& /*send*/) { return false; }
  // Writes pending state now: the agent ends.
  virtual void Flush() {}
  // Adds fields to the agent's saved state, under names of its own. Called often.
  virtual void Save(boost::json::object& /*fields*/) const {}
  // At the start, before the kubelet is shown anything: an earlier agent of this boot saved
  // `state`.
  virtual void Recall(const SavedState& /*state*/) {}
};

}  // namespace kgpu::node
