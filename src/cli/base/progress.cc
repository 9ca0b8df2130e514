#include "src/cli/base/progress.h"

#include <pthread.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "src/cli/base/environment.h"
#include "src/cli/base/note.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::cli {
namespace {

constexpr std::string_view kEraseLine = "\r\033[K";

// Signals are for the main thread: it may wait for them on a descriptor.
std::jthread StartWithoutSignals(std::function<void()> run) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::jthread thread(std::move(run));
  pthread_setname_np(thread.native_handle(), "kgpu-progress");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

Progress::Options TerminalOptions(int fd, const std::vector<std::string>& environment) {
  Progress::Options options;
  const bool is_dumb = std::ranges::find(environment, "TERM=dumb") != environment.end();
  if (isatty(fd) != 0 && !is_dumb) {
    // Nobody is left to tell when it is closed.
    options.write = [fd](std::string_view text) { (void)sys::WriteAll(fd, text); };
  }
  return options;
}

Progress::Options StandardErrorOptions() {
  return TerminalOptions(STDERR_FILENO, Environment());
}

Progress::Progress(std::string what) : Progress(std::move(what), StandardErrorOptions()) {
}

Progress::Progress(std::string what, Options options)
    : what_(std::move(what)), options_(std::move(options)) {
  if (options_.write) {
    thread_ = StartWithoutSignals([this] { Show(); });
    log_before_ = SetLogSink([this](LogLevel, std::string_view line) { Note(line); });
  }
}

Progress::~Progress() {
  if (!thread_.joinable()) {
    return;
  }
  SetLogSink(std::move(log_before_));
  {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
  }
  changed_.notify_one();
  thread_.join();
  if (is_shown_) {
    options_.write(kEraseLine);
  }
}

void Progress::Note(std::string_view text) {
  if (!options_.write) {
    PrintNote(text);
    return;
  }
  const std::lock_guard lock(mutex_);
  options_.write(fmt::format("{}{}\n", is_shown_ ? kEraseLine : "", text));
  is_shown_ = false;
}

void Progress::Show() {
  const auto start = std::chrono::steady_clock::now();
  std::chrono::milliseconds wait = options_.delay;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, wait, [this] { return is_done_; })) {
    const auto passed = std::chrono::steady_clock::now() - start;
    options_.write(fmt::format("{}{} … {} s", kEraseLine, what_,
                               std::chrono::duration_cast<std::chrono::seconds>(passed).count()));
    is_shown_ = true;
    wait = options_.repeat;
  }
}

}  // namespace kgpu::cli
