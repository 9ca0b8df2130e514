#include "src/functions/watchdog/watchdog.h"

#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "src/functions/watchdog/grpc_front.h"
#include "src/functions/watchdog/http_front.h"
#include "src/functions/watchdog/memory_kills.h"
#include "src/functions/watchdog/options.h"
#include "src/functions/watchdog/pool.h"
#include "src/functions/watchdog/reaper.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/timer.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/find_program.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/signals.h"

namespace kgpu::watchdog {
namespace {

using std::chrono::milliseconds;

// After the last call: for its caller to take the rest of its answer.
constexpr milliseconds kLastBytesTime{2000};
constexpr milliseconds kLastBytesLook{5};
// After a large call, until its memory is given back.
constexpr milliseconds kTrimPause{1000};

// Of the bodies of all incomplete requests together, and of the inputs of all calls that wait: as
// many as the service takes, at least.
size_t MaxBodies(const Options& options) {
  return std::max(size_t{256} << 20, 4 * options.max_body);
}

// The path of a command that may be a bare name.
StatusOr<std::string> PathOf(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    return program;
  }
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open("/"));
  std::string path = sys::FindProgram(root, program);
  if (path.empty()) {
    return NotFound("KGPU_FN_COMMAND: {} is in no folder of programs: give its path", program);
  }
  return path;
}

std::vector<std::string> Variables(char** environment) {
  std::vector<std::string> variables;
  for (; *environment != nullptr; ++environment) {
    variables.emplace_back(*environment);
  }
  return variables;
}

std::optional<std::string> ValueIn(const std::vector<std::string>& variables,
                                   std::string_view name) {
  for (const std::string_view variable : variables) {
    if (variable.starts_with(name) && variable.substr(name.size()).starts_with('=')) {
      return std::string(variable.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

// A worker takes as many calls as its share of the replica's, whatever flags changed.
void SetWorkerConcurrency(std::vector<std::string>& variables, const Options& options) {
  constexpr std::string_view kName = "KGPU_FN_CONCURRENCY=";
  std::erase_if(variables,
                [&](const std::string& variable) { return variable.starts_with(kName); });
  variables.push_back(fmt::format(
      "{}{}", kName, (options.concurrency + options.processes - 1) / options.processes));
}

uint64_t KillsHere() {
  const StatusOr<sys::Root> root = sys::Root::Open("/");
  return root.ok() ? MemoryKills(*root) : 0;
}

class Watchdog {
 public:
  Watchdog(EpollLoop& loop, UniqueFd signals, const Options& options, WorkerProgram program)
      : loop_(loop),
        signals_(std::move(signals)),
        options_(options),
        pool_(loop, {.program = std::move(program),
                     .limits = {.concurrency = options.concurrency,
                                .processes = options.processes,
                                .queue = options.queue_size(),
                                .timeout = options.timeout,
                                .wait_timeout = 2 * options.timeout,
                                .start_timeout = options.start_timeout},
                     .max_output = options.max_output,
                     .max_waiting = MaxBodies(options),
                     .memory_kills = [] { return KillsHere(); }}),
        bodies_(std::make_shared<http::BodyBudget>(MaxBodies(options))),
        http_(loop, pool_,
              {.max_body = options.max_body, .max_output = options.max_output, .bodies = bodies_}),
        grpc_(loop, pool_, options.max_body, bodies_) {}
  ~Watchdog() { loop_.Unwatch(watch_); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  Status Start() {
    ASSIGN_OR_RETURN(watch_, loop_.WatchReadable(signals_.get(), [this] { OnSignal(); }));
    for (const std::string& address : options_.listen) {
      ASSIGN_OR_RETURN(const std::string bound, http_.Listen(address));
      KGPU_LOG(kInfo, "listening", {"protocol", "http"}, {"address", bound});
    }
    for (const std::string& address : options_.grpc) {
      ASSIGN_OR_RETURN(const std::string bound, grpc_.Listen(address));
      KGPU_LOG(kInfo, "listening", {"protocol", "grpc"}, {"address", bound});
    }
    pool_.OnWorkerGone([this] { Reap(); });
    pool_.OnLargeCallEnded([this] { GiveBackMemory(); });
    pool_.Start();
    return OkStatus();
  }

 private:
  void OnSignal() {
    while (const int signal = sys::NextSignal(signals_.get())) {
      if (signal == SIGCHLD) {
        Reap();
      } else if (!pool_.is_draining()) {
        KGPU_LOG(kInfo, "drain started", {"grace", FormatDuration(options_.grace)});
        grpc_.Drain();
        pool_.Drain(options_.grace, [this] { OnDrained(loop_.clock().Now() + kLastBytesTime); });
      }
    }
  }

  void Reap() {
    ReapOrphans([this](pid_t pid) { return pool_.Owns(pid); });
  }

  // The allocator keeps the memory of large calls for the next ones. The container's limit is the
  // handler's to use.
  void GiveBackMemory() {
    if (trim_timer_.is_armed()) {
      return;
    }
    trim_timer_.Arm(kTrimPause, [this] {
      (void)malloc_trim(0);
      // Callers that read slowly may have more of it, and so may inputs of calls that have ended.
      if (http_.is_busy() || grpc_.is_busy() || pool_.is_writing()) {
        GiveBackMemory();
      }
    });
  }

  void OnDrained(SteadyTime deadline) {
    if ((!http_.is_busy() && !grpc_.is_busy()) || loop_.clock().Now() >= deadline) {
      return loop_.Quit();
    }
    loop_.After(kLastBytesLook, [this, deadline] { OnDrained(deadline); });
  }

  EpollLoop& loop_;
  const UniqueFd signals_;
  const Options options_;
  Pool pool_;
  const std::shared_ptr<http::BodyBudget> bodies_;  // of both fronts
  HttpFront http_;
  GrpcFront grpc_;
  WatchId watch_ = WatchId::kNone;
  Timer trim_timer_{loop_};
};

Status Run(const Options& options, std::vector<std::string> variables) {
  // A worker that is gone shows as an error of the write.
  if (signal(SIGPIPE, SIG_IGN) == SIG_ERR) {
    return ErrnoStatus(errno, "ignore SIGPIPE");
  }
  ASSIGN_OR_RETURN(UniqueFd signals, sys::TakeSignals({SIGTERM, SIGINT, SIGCHLD}));
  AdoptOrphans();
  SetWorkerConcurrency(variables, options);
  WorkerProgram program{.argv = options.command, .environment = std::move(variables)};
  ASSIGN_OR_RETURN(program.argv[0], PathOf(program.argv[0]));
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  Watchdog watchdog(*loop, std::move(signals), options, std::move(program));
  RETURN_IF_ERROR(watchdog.Start());
  loop->Run();
  KGPU_LOG(kInfo, "drained");
  return OkStatus();
}

}  // namespace

int Main(std::span<const std::string> arguments, char** environment) {
  const std::vector<std::string> variables = Variables(environment);
  const StatusOr<Options> options =
      ReadOptions(arguments, [&](const std::string& name) { return ValueIn(variables, name); });
  if (!options.ok()) {
    fmt::print(stderr, "kgpu-fnwatch: {}\n", Message(options.status()));
    return 2;
  }
  if (options->wants_help) {
    fmt::print("{}", OptionsHelp());
    return 0;
  }
  if (options->wants_version) {
    fmt::print("kgpu-fnwatch {}\n", KGPU_VERSION);
    return 0;
  }
  if (const Status status = Run(*options, variables); !status.ok()) {
    fmt::print(stderr, "kgpu-fnwatch: {}\n", Message(status));
    return 1;
  }
  return 0;
}

}  // namespace kgpu::watchdog
