// The part that lends GPUs of local pools, and slices of their memory, to programs of this
// host: /v1/loans of agent.sock.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "src/node/loans/choose.h"
#include "src/node/loans/lend_rules.h"
#include "src/node/loans/lender.h"
#include "src/node/loans/lent_watch.h"
#include "src/node/loans/loan_files.h"
#include "src/node/part/part.h"
#include "src/node/pools/assignment.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/http/message.h"
#include "src/platform/sys/disk_worker.h"

namespace kgpu::loans {

// Lives on the loop's thread.
class LoanHandler final : public node::Part {
 public:
  // Keeps the ledger at `path`, and waits for its first reading (sys::DiskWorker::Await): nothing
  // may be shown to the kubelet before. `files` are those of lent slices. `loop`, `disk` and
  // `effects` must outlive the handler.
  LoanHandler(EventLoop& loop, sys::DiskWorker& disk, const std::string& path,
              slices::SliceFilesOptions files, node::Effects& effects);

  // Answers /v1/loans and what is below, now or later; false: another path.
  bool Answer(const http::Request& request, const Send& send) override;
  // Takes what is lent from the kubelet's resources, and from local pools what is lent as something
  // else; while the ledger is not readable, all that the kubelet was not offered before.
  void Withhold(pools::Assignment& assignment) const;
  void Assign(const node::NodeState& state, node::Draft& draft) override;
  // GPUs that are new in local pools may be lent once no pod holds them.
  void OnShown(const node::NodeState& state) override;
  void OnSample(const node::NodeState& state, const device::SampleSetPtr& samples) override;
  void ShowStatus(const node::NodeState& state, node::StatusPage& page) const override;
  void WriteSeries(const node::NodeState& state, metrics::Exposition& page) const override;
  // GPUs that the kubelet was shown before a restart are surely not lent, even if the ledger is not
  // readable; no pod has got a GPU of a local pool since.
  void Recall(const node::SavedState& state) override;

  const loans::Ledger& ledger() const { return lender_.ledger(); }

 private:
  void Lend(const http::Request& request, const Send& send);
  http::Response Check(const http::Request& request) const;
  void Give(const loans::Lender::Lent& lent, const Send& send);
  void EndUnknown(const std::string& id, const std::function<void()>& tried);
  void End(const http::Request& request, const Send& send);
  http::Response List(const http::Request& request) const;
  void RetryLater();
  void KeepFiles();
  // Borrows `state`.
  Stock StockOf(const node::NodeState& state) const;

  EventLoop& loop_;
  node::Effects& effects_;
  std::set<device::GpuUuid> offered_;
  LoanFiles files_;
  loans::Lender lender_;
  LendRules rules_;
  LentWatch watch_;
  std::set<std::string> unknown_;  // loans that nobody knows of, to be ended
  Timer retry_timer_{loop_};
  Timer end_timer_{loop_};
};

}  // namespace kgpu::loans
