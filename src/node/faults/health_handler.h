// The part that handles events about the GPUs' health: a log line, a journal entry, events on the
// node and on pods; and answers queries.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/gpu/health/health_event.h"
#include "src/kube/api/event_recorder.h"
#include "src/node/faults/health_log.h"
#include "src/node/faults/journal_writer.h"
#include "src/node/part/part.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/http/message.h"
#include "src/platform/sys/disk_worker.h"

namespace kgpu::faults {

struct HealthHandlerOptions {
  JournalWriterOptions journal;
  std::string node;  // its name in the cluster
  // Delays events, so that the kubelet's list is sent first.
  std::chrono::milliseconds delay{20};
  // A pod may have got the device after the list of holders was read: the list is read again, and
  // pods that only then appear get their event after this time.
  std::chrono::milliseconds look_again{2'000};
  // Limit for events within `delay`; over it, the oldest repeats are dropped, and counted.
  size_t max_waiting = 256;
  LogBudget::Options log{};
  // A disk may hang: queries of the journal fail after this time.
  std::chrono::milliseconds history_limit{10'000};
};

// The faults of the GPUs, by the inventory.
struct FaultList {
  std::function<health::Overview()> overview{};
  // Ends every fault of a GPU, like health::FaultTracker::Clear.
  std::function<Status(const device::GpuUuid&)> clear{};
};

// Lives on the loop's thread.
class HealthHandler final : public node::Part {
 public:
  // `loop`, `disk` and `effects` must outlive the handler; it asks `faults` until it is destroyed.
  HealthHandler(EventLoop& loop, sys::DiskWorker& disk, HealthHandlerOptions options,
                node::Effects& effects, FaultList faults);
  ~HealthHandler() override;
  HealthHandler(const HealthHandler&) = delete;
  HealthHandler& operator=(const HealthHandler&) = delete;

  // Writes all events to the journal: call it before the end.
  void Flush() override;
  // Only queues the event: the caller may be in the middle of anything.
  void OnHealthEvent(const health::HealthEvent& event);

  // Answers /v1/health, /v1/health/history and /v1/health/clear, now or later; false: another path.
  // For agent.sock only.
  bool Answer(const http::Request& request, const Send& send) override;
  void WriteSeries(const node::NodeState& state, metrics::Exposition& page) const override;
  void Save(boost::json::object& fields) const override;

 private:
  device::SnapshotPtr Snapshot() const;  // never null
  void HandleAll();
  // `others`: how many GPUs the node's event covers; nothing: the node already has its event.
  void Handle(const health::HealthEvent& event, std::optional<size_t> others);
  void NotifyLate();
  http::Response Report(const http::Request& request) const;
  StatusOr<std::vector<device::GpuUuid>> GpusToClear(const http::Request& request) const;
  http::Response Clear(const http::Request& request) const;
  void History(const http::Request& request, const Send& send);
  // Calls `send` once: with the result's argument, or with an error after the limit.
  Send WithinLimit(const Send& send);

  EventLoop& loop_;
  const HealthHandlerOptions options_;
  node::Effects& effects_;
  const FaultList faults_;
  JournalWriter journal_;
  HealthLog log_;
  std::deque<health::HealthEvent> waiting_;
  uint64_t left_out_ = 0;  // of queued events
  Timer timer_{loop_};
  // Faults whose pods may still need an event, and who has one.
  struct Reported {
    health::HealthEvent event;
    std::set<std::pair<kube::ObjectReference, bool>> who;  // and whether as a warning
    SteadyTime due;
  };
  std::deque<Reported> reported_;
  Timer late_timer_{loop_};
  std::set<TimerId> history_timers_;  // one per request that waits for the journal
};

// The GPU that `text` names: by UUID, index or PCI address. A UUID need not be in the snapshot.
// Errors: InvalidArgument (none of the three), NotFound.
StatusOr<device::GpuUuid> FindGpu(const device::Snapshot& snapshot, std::string_view text);

}  // namespace kgpu::faults
