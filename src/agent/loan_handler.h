// Lends GPUs of local pools, and slices of their memory, to programs of this host: /v1/loans of
// agent.sock.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "src/agent/disk_worker.h"
#include "src/agent/loan_files.h"
#include "src/node/loans/choose.h"
#include "src/node/loans/lender.h"
#include "src/node/pools/assignment.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/http/message.h"

namespace kgpu::agent {

struct LoanHandlerPeers {
  std::function<loans::Stock()> stock;
  std::function<void()> changed;  // what is lent, or problem(), has changed
  std::function<void()> refused;  // nothing is free now: look whether pods still hold what they had
};

// Lives on the loop's thread.
class LoanHandler {
 public:
  // Keeps the ledger at `path`, and waits for its first reading (DiskWorker::Await): nothing may be
  // shown to the kubelet before. `offered` is what the kubelet was shown before a restart: surely
  // not lent, even if the ledger is not readable. `files` are those of lent slices. `loop` and
  // `disk` must outlive the handler.
  LoanHandler(EventLoop& loop, DiskWorker& disk, const std::string& path,
              share::SliceFilesOptions files, const pools::Assignment& offered,
              LoanHandlerPeers peers);
  ~LoanHandler() = default;
  LoanHandler(const LoanHandler&) = delete;
  LoanHandler& operator=(const LoanHandler&) = delete;

  using Send = std::function<void(http::Response)>;
  // Answers /v1/loans and what is below, now or later; false: another path.
  bool Answer(const http::Request& request, const Send& send);
  // Takes what is lent from the kubelet's resources, and from local pools what is lent as something
  // else; while the ledger is not readable, all that the kubelet was not `offered`.
  void Withhold(pools::Assignment& assignment) const;

  const loans::Ledger& ledger() const { return lender_.ledger(); }
  // Why the ledger is not readable or writable, with the fix; empty: it is.
  std::string problem() const { return lender_.problem(); }
  // Why containers cannot get lent memory slices; empty: they can, or none is lent.
  std::string slice_problem() const { return files_.problem(); }

 private:
  void Lend(const http::Request& request, const Send& send);
  http::Response Check(const http::Request& request) const;
  void Give(const loans::Lender::Lent& lent, const Send& send);
  void EndUnknown(const std::string& id, const std::function<void()>& tried);
  void End(const http::Request& request, const Send& send);
  http::Response List(const http::Request& request) const;
  void ReloadLater();
  void KeepFiles();

  EventLoop& loop_;
  const LoanHandlerPeers peers_;
  std::set<device::GpuUuid> offered_;
  LoanFiles files_;
  loans::Lender lender_;
  std::set<std::string> unknown_;  // loans that nobody knows of, to be ended
  Timer reload_timer_{loop_};
  Timer end_timer_{loop_};
};

}  // namespace kgpu::agent
