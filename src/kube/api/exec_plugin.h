// One run of an exec plugin as a child process, without blocking anything else.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/kube/api/exec_credential.h"
#include "src/kube/api/kubeconfig.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"
#include "src/platform/sys/child_run.h"

namespace kgpu::kube {

struct ExecRequest {
  ExecSpec spec{};
  std::string info{};                      // for KUBERNETES_EXEC_INFO
  std::vector<std::string> environment{};  // "NAME=value": ours, which the plugin gets as well
  std::chrono::milliseconds deadline{60'000};
};

// Destroying it kills the plugin. Loop thread only.
class ExecRun {
 public:
  // Its standard error goes to ours. Errors: NotFound (no such program, with the kubeconfig's
  // hint), FailedPrecondition (it failed, needs a terminal, printed no credential),
  // DeadlineExceeded. No error contains any of its output.
  using Done = std::function<void(StatusOr<ExecCredential>)>;

  // `done` is called once, never from here; it may destroy the run. `loop` must outlive it.
  static std::unique_ptr<ExecRun> Start(EventLoop& loop, ExecRequest request, Done done);
  ExecRun(const ExecRun&) = delete;
  ExecRun& operator=(const ExecRun&) = delete;

 private:
  ExecRun(EventLoop& loop, ExecRequest request, Done done)
      : loop_(loop), request_(std::move(request)), done_(std::move(done)) {}
  std::string Name() const;
  Status Spawn();
  StatusOr<ExecCredential> CredentialOf(const sys::ChildEnd& end) const;

  EventLoop& loop_;
  const ExecRequest request_;
  const Done done_;
  std::unique_ptr<sys::ChildRun> child_;
  Timer failure_{loop_};  // reports that the plugin did not start
};

}  // namespace kgpu::kube
