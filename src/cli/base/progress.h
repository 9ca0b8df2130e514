// Tells a person at a terminal what takes so long: one line on standard error after a second,
// removed when the work is done.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "src/platform/base/log.h"

namespace kgpu::cli {

class Progress {
 public:
  struct Options {
    std::chrono::milliseconds delay{1000};        // quick work shows nothing
    std::chrono::milliseconds repeat{1000};       // how often to update the time
    std::function<void(std::string_view)> write;  // empty: nobody watches, show nothing
  };

  // `what` is in progress until destruction: "asking the driver". Shown if standard error is a
  // terminal. Log lines erase it first; whatever else is printed meanwhile goes through Note.
  explicit Progress(std::string what);
  Progress(std::string what, Options options);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A line for people on standard error, as PrintNote writes it. Thread: any.
  void Note(std::string_view text);

 private:
  void Show();

  const std::string what_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
  bool is_shown_ = false;
  std::jthread thread_;  // none if nobody watches; receives no signals
  LogSink log_before_;
};

// Writes to `fd` where that is a terminal which can erase a line; otherwise `write` is empty.
Progress::Options TerminalOptions(int fd, const std::vector<std::string>& environment);
Progress::Options StandardErrorOptions();

}  // namespace kgpu::cli
