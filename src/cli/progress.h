// Tells a person at a terminal what takes so long: one line on standard error after a second, which
// goes when the work is done.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace kgpu::cli {

class Progress {
 public:
  struct Options {
    std::chrono::milliseconds delay{1000};        // quick work shows nothing
    std::chrono::milliseconds repeat{1000};       // how often the time is written again
    std::function<void(std::string_view)> write;  // empty: nobody looks, nothing is shown
  };

  // Those of standard error: nothing is shown where it is no terminal.
  static Options OnStandardError();

  // `what` is under way until this goes: "asking the driver". Shown where standard error is a
  // terminal. Nothing else may be printed meanwhile.
  explicit Progress(std::string what);
  Progress(std::string what, Options options);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void Show();

  const std::string what_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
  bool is_shown_ = false;  // of the thread, then of the destructor
  std::jthread thread_;    // none where nobody looks; takes no signals
};

}  // namespace kgpu::cli
