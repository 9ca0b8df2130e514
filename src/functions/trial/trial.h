// A container of a function for one call, as `kgpu fn run` needs it: no service knows of it, and
// nothing of it stays.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/functions/provider/container_command.h"
#include "src/functions/provider/loan.h"
#include "src/functions/spec/function.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/child_process.h"
#include "src/platform/sys/scratch_folder.h"

namespace kgpu::functions {

struct TrialOptions {
  EngineSettings engine{};
  std::vector<std::string> environment{};  // of podman
  std::string image{};
  std::string agent_socket{};    // lends the GPUs, if the function requests some
  std::string secrets{};         // folder with a file for each secret
  std::string scratch = "/tmp";  // for the watchdog's socket
  std::chrono::milliseconds start_limit{std::chrono::minutes(2)};
};

// Blocks; for programs without a loop of their own. What the handler prints goes to our standard
// error. Signals that would end us wait until the container has ended.
class Trial {
 public:
  // Returns once the handler is loaded. Errors: NotFound (a secret), as LoanClient::Borrow,
  // FailedPrecondition (the container ended: it has said why), DeadlineExceeded.
  static StatusOr<std::unique_ptr<Trial>> Start(const Function& function, TrialOptions options);

  // Ends the container, and returns the GPUs.
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // The watchdog's, for calls over HTTP.
  const std::string& socket() const { return socket_; }

 private:
  Trial(const Function& function, TrialOptions options)
      : function_(function), options_(std::move(options)) {}

  Status Borrow();
  Status StartContainer();
  Status WaitUntilReady();
  void EndContainer();
  void Return(const std::string& loan);
  void ReturnAbandoned();

  const Function function_;
  const TrialOptions options_;
  std::unique_ptr<EpollLoop> loop_;
  std::unique_ptr<sys::ScratchFolder> folder_;
  std::string id_;
  std::string socket_;
  Loan loan_;
  std::optional<sys::ChildProcess> podman_;
};

}  // namespace kgpu::functions
