#include "src/diagnose/validate/run.h"

#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "src/diagnose/validate/kernels.h"
#include "src/diagnose/validate/lines.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/child_process.h"
#include "src/platform/sys/pipe.h"

namespace kgpu::validate {
namespace {

// A process stuck in the kernel outlives SIGKILL; it is not waited for longer.
constexpr std::chrono::milliseconds kKillGrace{2000};

// A file of the kernel's that holds `text`, at its beginning.
StatusOr<UniqueFd> FileOf(std::string_view text) {
  UniqueFd file(memfd_create("kgpu-ptx", MFD_CLOEXEC));
  const bool is_good =
      file.is_valid() &&
      write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      lseek(file.get(), 0, SEEK_SET) == 0;
  return is_good ? StatusOr<UniqueFd>(std::move(file)) : ErrnoStatus(errno, "memfd_create");
}

std::vector<std::string> CommandOf(const RunOptions& options) {
  std::vector<std::string> argv{options.program,
                                "--cuda-library",
                                options.library,
                                "--copy-bytes",
                                fmt::to_string(options.copy_bytes),
                                "--burn-ms",
                                fmt::to_string(options.burn.count())};
  for (const std::string& preload : options.preloads) {
    argv.insert(argv.end(), {"--preload", preload});
  }
  return argv;
}

struct Helper {
  sys::ChildProcess process;
  UniqueFd output;
};

StatusOr<Helper> Start(const RunOptions& options) {
  ASSIGN_OR_RETURN(const UniqueFd input,
                   FileOf(options.ptx.empty() ? kKernels : std::string_view(options.ptx)));
  ASSIGN_OR_RETURN(sys::Pipe output, sys::MakePipe());
  ASSIGN_OR_RETURN(sys::ChildProcess process,
                   sys::ChildProcess::Spawn({.argv = CommandOf(options),
                                             .environment = options.environment,
                                             .fds = {{input.get(), STDIN_FILENO},
                                                     {output.write.get(), STDOUT_FILENO}}}));
  return Helper{std::move(process), std::move(output.read)};
}

// Whether `fd` is readable before `left` is over.
bool WaitReadable(int fd, std::chrono::steady_clock::duration left) {
  pollfd wait{fd, POLLIN, 0};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  const int ready = poll(&wait, 1, static_cast<int>(std::clamp<int64_t>(milliseconds, 0, 1 << 30)));
  return ready > 0 || (ready < 0 && errno == EINTR);
}

std::string DescribeEnd(const std::optional<sys::ExitState>& exit, std::string_view during) {
  if (!exit || !exit->signal) {
    return fmt::format("kgpu-cuda exited during {} with exit code {}", during,
                       exit ? exit->code.value_or(-1) : -1);
  }
  // No library kills its own process so: a person did, or the kernel for want of memory.
  return *exit->signal == SIGKILL
             ? fmt::format("kgpu-cuda was killed (SIGKILL) during {}", during)
             : fmt::format("the driver's library killed its process with signal {} during {}",
                           *exit->signal, during);
}

// Whether what runs is the kgpu-cuda that belongs to us.
Status CheckVersion(const RunOptions& options, const LineReader& lines) {
  if (options.version.empty() || lines.version() == options.version) {
    return OkStatus();
  }
  constexpr std::string_view kFix = "install kgpu and kgpu-cuda from the same release";
  return lines.version().empty()
             ? FailedPrecondition("{}: does not answer like kgpu-cuda: {}", options.program, kFix)
             : FailedPrecondition("{}: version {} does not match kgpu {}: {}", options.program,
                                  lines.version(), options.version, kFix);
}

bool IsStart(std::string_view phase) {
  return phase == "init" || phase == "context";
}

std::chrono::milliseconds DeadlineOf(const RunOptions& options, std::string_view phase) {
  return IsStart(phase) ? options.start_deadline : options.deadline;
}

// Reads until the helper closes its output or a phase outlives its deadline. True when it ended.
bool Follow(const Helper& helper, const RunOptions& options, LineReader& lines,
            const PhaseListener& on_phase) {
  std::array<char, 4096> bytes{};
  std::string phase;
  bool is_silence_reported = !options.on_silence;
  for (;;) {
    const SteadyTime now = std::chrono::steady_clock::now();
    const SteadyTime end = lines.since() + DeadlineOf(options, lines.phase());
    if (now >= end) {
      return false;
    }
    const SteadyTime notice = lines.since() + options.patience;
    const bool is_noticed = !is_silence_reported && (phase.empty() || IsStart(phase));
    if (is_noticed && now >= notice) {
      is_silence_reported = true;
      options.on_silence();
      continue;
    }
    if (!WaitReadable(helper.output.get(), (is_noticed ? std::min(end, notice) : end) - now)) {
      continue;
    }
    const ssize_t got = read(helper.output.get(), bytes.data(), bytes.size());
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return true;
    }
    if (got > 0) {
      lines.Take({bytes.data(), static_cast<size_t>(got)}, std::chrono::steady_clock::now());
    }
    if (lines.phase() != phase) {
      phase = lines.phase();
      on_phase(phase);
    }
  }
}

}  // namespace

StatusOr<Report> Run(const RunOptions& options, const PhaseListener& on_phase) {
  Report report;
  LineReader lines(report, std::chrono::steady_clock::now());
  ASSIGN_OR_RETURN(Helper helper, Start(options));
  const bool has_ended = Follow(helper, options, lines, on_phase);
  if (!has_ended) {
    (void)helper.process.Kill();
  }
  const bool is_gone = WaitReadable(helper.process.pidfd(), kKillGrace);
  const std::optional<sys::ExitState> exit = helper.process.TryReap();
  const bool has_crashed = has_ended && exit && exit->signal;
  if (!has_crashed) {
    RETURN_IF_ERROR(CheckVersion(options, lines));
  }
  const std::string during = lines.phase().empty() ? "its start" : lines.phase();
  if (!has_ended) {
    report.outcome = Outcome::kHung;
    report.reason = fmt::format(
        "{} did not finish within {}: the driver does not respond{}{}", during,
        FormatDuration(DeadlineOf(options, during)),
        IsStart(during) ? ", or is slow to start GPUs (nvidia-persistenced keeps them initialized)"
                        : "",
        is_gone ? "" : ", and its process survived SIGKILL: reboot the host");
  } else if (!lines.is_finished()) {
    report.outcome = Outcome::kCrashed;
    report.reason = DescribeEnd(exit, during);
  }
  return report;
}

}  // namespace kgpu::validate
