#include "src/functions/trial/trial.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/functions/provider/loan_client.h"
#include "src/functions/provider/secret_files.h"
#include "src/functions/replicas/ready_probe.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/http/client.h"
#include "src/platform/sys/run.h"

namespace kgpu::functions {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kTrialFolder[] = "kgpu-fn-run";
// Not the service's prefix: it returns loans of replicas that it does not know.
constexpr char kTrialHolder[] = "fn-run/";
constexpr milliseconds kTrialGrace = seconds(10);
constexpr milliseconds kRemoveLimit = seconds(60);

// The socket's folder, for a user that only the container knows. Nobody else can reach it: the
// folder above it is ours alone.
Status MakeSocketFolder(const std::string& path) {
  constexpr mode_t kEverybody = 0777;
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || chmod(path.c_str(), kEverybody) != 0) {
    return ErrnoStatus(error ? error.value() : errno, fmt::format("create {}", path));
  }
  return OkStatus();
}

bool IsProcess(std::string_view pid) {
  const auto number = ParseUint(pid);
  // ESRCH is all that tells that there is none.
  return !number || *number == 0 || kill(static_cast<pid_t>(*number), 0) == 0 || errno != ESRCH;
}

}  // namespace

StatusOr<std::unique_ptr<Trial>> Trial::Start(const Function& function, TrialOptions options) {
  std::unique_ptr<Trial> trial(new Trial(function, std::move(options)));
  ASSIGN_OR_RETURN(trial->loop_, EpollLoop::Create());
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open("/"));
  sys::ScratchFolder::RemoveAbandoned(root, trial->options_.scratch, kTrialFolder);
  ASSIGN_OR_RETURN(trial->folder_,
                   sys::ScratchFolder::Make(root, trial->options_.scratch, kTrialFolder));
  trial->id_ = fmt::format("run-{}", getpid());
  RETURN_IF_ERROR(trial->Borrow());
  RETURN_IF_ERROR(trial->StartContainer());
  RETURN_IF_ERROR(trial->WaitUntilReady());
  return trial;
}

Trial::~Trial() {
  EndContainer();
  if (!loan_.id.empty()) {
    Return(loan_.id);
  }
}

// Of trials that were killed: their holders name the processes.
void Trial::ReturnAbandoned() {
  const auto answer = http::Fetch(options_.agent_socket,
                                  {.target = fmt::format("/v1/loans?holder={}", kTrialHolder)});
  const auto loans = answer.ok() ? ParseLoans(answer->body) : answer.status();
  for (const Loan& loan : loans.value_or(std::vector<Loan>())) {
    const std::string_view pid = std::string_view(loan.holder).substr(loan.holder.rfind('/') + 1);
    if (loan.holder.starts_with(kTrialHolder) && !IsProcess(pid)) {
      Return(loan.id);
    }
  }
}

Status Trial::Borrow() {
  if (function_.gpu.count == 0) {
    return OkStatus();
  }
  ReturnAbandoned();
  LoanClient agent(*loop_, options_.agent_socket);
  StatusOr<Loan> result = Internal("no answer");
  agent.Borrow(fmt::format("{}{}/{}", kTrialHolder, function_.name, getpid()), function_.gpu,
               [&](StatusOr<Loan> loan) {
                 result = std::move(loan);
                 loop_->Quit();
               });
  loop_->Run();
  ASSIGN_OR_RETURN(loan_, std::move(result));
  return OkStatus();
}

Status Trial::StartContainer() {
  const ProviderFolders folders{.run = folder_->path(), .secrets = options_.secrets, .logs = ""};
  RETURN_IF_ERROR(MakeSocketFolder(ReplicaFolder(folders, id_)));
  RETURN_IF_ERROR(CopySecrets(folders, function_, id_));
  socket_ = WatchdogSocket(folders, id_);
  auto podman = sys::ChildProcess::Spawn(
      {.argv = TrialCommand(options_.engine, folders,
                            {.function = function_,
                             .image = options_.image,
                             .replica = id_,
                             .loan = loan_,
                             .hash = ""}),
       .environment = options_.environment,
       .fds = {{STDERR_FILENO, STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}}});
  RETURN_IF_ERROR(podman.status());
  podman_.emplace(*std::move(podman));
  return OkStatus();
}

Status Trial::WaitUntilReady() {
  Status result;
  const auto end = [&](Status status) {
    result = std::move(status);
    loop_->Quit();
  };
  ReadyProbe probe(*loop_, socket_, [&](const ReadyProbe::Ready&) { end(OkStatus()); });
  probe.OnFailed([&](const std::string& problem) {
    end(FailedPrecondition("function {}: {}: see what it printed", function_.name, problem));
  });
  ASSIGN_OR_RETURN(const WatchId watch, loop_->WatchReadable(podman_->pidfd(), [&] {
    const auto state = podman_->TryReap();
    end(
        FailedPrecondition("function {}: the container ended before the handler was loaded ({}): "
                           "see what it printed",
                           function_.name, state ? sys::Describe(*state) : "still there"));
  }));
  Timer timer(*loop_);
  timer.Arm(options_.start_limit, [&] {
    end(DeadlineExceeded("function {}: the handler was not loaded within {} s{}{}", function_.name,
                         options_.start_limit / seconds(1), probe.problem().empty() ? "" : ": ",
                         probe.problem()));
  });
  loop_->Run();
  loop_->Unwatch(watch);
  return result;
}

void Trial::EndContainer() {
  if (!podman_) {
    return;
  }
  // Also waits until podman, which runs beside this, has let go of the container.
  sys::RealRunner runner;
  runner
      .Run({.argv = RemoveCommand(options_.engine, ContainerName(function_.name, id_), kTrialGrace),
            .environment = options_.environment,
            .deadline = kRemoveLimit})
      .status()
      .IgnoreError();
  podman_.reset();
}

void Trial::Return(const std::string& loan) {
  LoanClient agent(*loop_, options_.agent_socket);
  agent.Return(loan, [&](const Status&) { loop_->Quit(); });
  loop_->Run();
}

}  // namespace kgpu::functions
