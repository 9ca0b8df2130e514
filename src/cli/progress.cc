#include "src/cli/progress.h"

#include <pthread.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "src/cli/environment.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::cli {
namespace {

constexpr std::string_view kEraseLine = "\r\033[K";

// A dumb terminal cannot erase a line.
bool CanErase() {
  return isatty(STDERR_FILENO) != 0 &&
         std::ranges::none_of(Environment(),
                              [](std::string_view entry) { return entry == "TERM=dumb"; });
}

Progress::Options TerminalOptions() {
  Progress::Options options;
  if (CanErase()) {
    // If standard error is closed, there is no one to tell.
    options.write = [](std::string_view text) { (void)sys::WriteAll(STDERR_FILENO, text); };
  }
  return options;
}

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

Progress::Progress(std::string what) : Progress(std::move(what), TerminalOptions()) {
}

Progress::Progress(std::string what, Options options)
    : what_(std::move(what)), options_(std::move(options)) {
  if (options_.write) {
    thread_ = StartWithoutSignals([this] { Show(); });
  }
}

Progress::~Progress() {
  if (!thread_.joinable()) {
    return;
  }
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

void Progress::Show() {
  const auto start = std::chrono::steady_clock::now();
  std::chrono::milliseconds wait = options_.delay;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, wait, [this] { return is_done_; })) {
    lock.unlock();
    const auto passed = std::chrono::steady_clock::now() - start;
    options_.write(fmt::format("{}{} … {} s", kEraseLine, what_,
                               std::chrono::duration_cast<std::chrono::seconds>(passed).count()));
    is_shown_ = true;
    wait = options_.repeat;
    lock.lock();
  }
}

}  // namespace kgpu::cli
