// The part for devices that several containers share: the files of memory slices, a look at who
// uses more than allowed, and changes of devices that nobody uses.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/part/part.h"
#include "src/node/pods/watch.h"
#include "src/node/slices/compute_shares.h"
#include "src/node/slices/device_changes.h"
#include "src/node/slices/slice_publisher.h"
#include "src/node/slices/slice_watch.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/sys/root.h"

namespace kgpu::slices {

// Of a slot whose limit no container could get: the library or its files are missing.
inline constexpr std::string_view kSlicesReason = "SlicesNotReady";

// Lives on the loop's thread.
class Sharing final : public node::Part {
 public:
  // Evicts a pod that uses more device memory than it may.
  using Evict = std::function<Status(const slices::SliceUse&)>;

  // `loop` and `effects` must outlive it, `host` also what `background` runs.
  Sharing(EventLoop& loop, const sys::Root& host, const pods::Background& background,
          slices::SliceFilesOptions options, node::Effects& effects, Evict evict);

  // Takes devices that may not change yet out of the draft, and makes the files of its slices.
  // Slots with a limit that no container could get are unhealthy.
  void Assign(const node::NodeState& state, node::Draft& draft) override;
  void MarkHealth(pools::Assignment& shown) const override;
  void OnSample(const node::NodeState& state, const device::SampleSetPtr& samples) override;
  void Remark(std::vector<std::string>& remarks) const override;
  void ShowStatus(const node::NodeState& state, node::StatusPage& page) const override;
  // Saves the form in which each device was shown and the slots of withdrawn devices: pods may
  // still hold devices in that form, under whatever configuration.
  void Save(boost::json::object& fields) const override;
  void Recall(const node::SavedState& state) override;
  // How often to measure for it at least; nothing: it does not need it.
  std::optional<std::chrono::milliseconds> pace() const { return compute_.pace(); }
  // Of the slices in use; never null.
  const telemetry::SliceFiguresPtr& figures() const { return compute_.figures(); }
  const SlicePublisher::Paths& paths() const { return slices_.paths(); }
  // Why containers cannot get memory slices, with the fix; empty: they can, or there are none.
  const std::string& problem() const { return problem_; }
  // To be called before a container gets the slots: RenewLedgers. Any thread; may outlive this.
  std::function<Status(std::span<const std::string> slot_ids)> renewal() const;

 private:
  void OnFiles();

  EventLoop& loop_;
  const slices::SliceFilesOptions options_;
  node::Effects& effects_;
  std::string problem_;
  SlicePublisher slices_;
  ComputeShares compute_;
  SliceWatch watch_;
  DeviceChanges changes_;
};

}  // namespace kgpu::slices
