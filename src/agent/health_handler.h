// What becomes of events about the GPUs' health: a log line, an entry in the journal, events on the
// node and on pods; and who asks is answered.
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

#include "src/agent/disk_worker.h"
#include "src/agent/health_log.h"
#include "src/agent/journal_writer.h"
#include "src/gpu/device/snapshot.h"
#include "src/gpu/health/health_event.h"
#include "src/kube/api/event_recorder.h"
#include "src/node/pods/pod_map.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/http/message.h"

namespace kgpu::agent {

struct HealthHandlerOptions {
  JournalWriterOptions journal;
  std::string node;  // its name in the cluster
  // What goes to the kubelet comes first.
  std::chrono::milliseconds delay{20};
  // A pod may have had the device for less than the list of who has what is old: the list is asked
  // for again, and those that are found only then get their event after this time.
  std::chrono::milliseconds look_again{2'000};
  // Events within `delay`; past it the oldest of what is merely seen is left out, and counted.
  size_t max_waiting = 256;
  LogBudget::Options log{};
  // A disk may hang: who asks for the journal hears so after this time.
  std::chrono::milliseconds history_limit{10'000};
};

// Whom the handler asks and tells.
struct HealthHandlerPeers {
  std::function<void(kube::Event)> notify{};
  std::function<health::Overview()> overview{};
  std::function<pods::PodMapPtr()> pods{};  // never null
  std::function<void()> look_at_pods{};     // pods() is soon to be new
  // Ends every fault of a GPU, as health::FaultTracker::Clear does.
  std::function<Status(const device::GpuUuid&)> clear{};
};

// Lives on the loop's thread.
class HealthHandler {
 public:
  // `loop` and `disk` outlive the handler; the peers are called until it goes.
  HealthHandler(EventLoop& loop, DiskWorker& disk, HealthHandlerOptions options,
                HealthHandlerPeers peers);
  ~HealthHandler();
  HealthHandler(const HealthHandler&) = delete;
  HealthHandler& operator=(const HealthHandler&) = delete;

  // Has all events written to the journal: before the end.
  void Flush();
  // Takes it and does nothing yet: it may come from the midst of anything.
  void OnHealthEvent(const health::HealthEvent& event);
  void SetSnapshot(device::SnapshotPtr snapshot) { snapshot_ = std::move(snapshot); }

  // Why what happens is not kept on the disk, for people; empty: it is.
  std::string journal_problem() const { return journal_.problem(); }

  using Send = std::function<void(http::Response)>;
  // Answers /v1/health, /v1/health/history and /v1/health/clear, now or later; false: it is another
  // path. For agent.sock only.
  bool Answer(const http::Request& request, const Send& send);

 private:
  void HandleAll();
  // `others`: how many GPUs the node's event names; nothing: the node has its event.
  void Handle(const health::HealthEvent& event, std::optional<size_t> others);
  void NotifyLate();
  http::Response Report(const http::Request& request) const;
  StatusOr<std::vector<device::GpuUuid>> GpusToClear(const http::Request& request) const;
  http::Response Clear(const http::Request& request) const;
  void History(const http::Request& request, const Send& send);
  // `send` once: with what the result is called with, or after the limit with an error.
  Send WithinLimit(const Send& send);

  EventLoop& loop_;
  const HealthHandlerOptions options_;
  HealthHandlerPeers peers_;
  JournalWriter journal_;
  HealthLog log_;
  device::SnapshotPtr snapshot_;
  std::deque<health::HealthEvent> waiting_;
  uint64_t left_out_ = 0;  // of what was to wait
  TimerId timer_ = TimerId::kNone;
  // Faults whose pods may still need an event, and who has one.
  struct Reported {
    health::HealthEvent event;
    std::set<std::pair<kube::ObjectReference, bool>> who;  // and whether as a warning
    SteadyTime due;
  };
  std::deque<Reported> reported_;
  TimerId late_timer_ = TimerId::kNone;
  std::set<TimerId> history_timers_;  // one for each request that waits for the journal
};

// The GPU that `text` names: by UUID, index or PCI address. A UUID need not be in the snapshot.
// Errors: InvalidArgument (it is none of the three), NotFound.
StatusOr<device::GpuUuid> FindGpu(const device::Snapshot& snapshot, std::string_view text);

}  // namespace kgpu::agent
