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

namespace kgpu::cli {

class Progress {
 public:
  struct Options {
    std::chrono::milliseconds delay{1000};        // quick work shows nothing
    std::chrono::milliseconds repeat{1000};       // how often to update the time
    std::function<void(std::string_view)> write;  // empty: nobody watches, show nothing
  };

  // `what` is in progress until destruction: "asking the driver". Shown if standard error is a
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
  bool is_shown_ = false;  // used by the thread, then by the destructor
  std::jthread thread_;    // none if nobody watches; receives no signals
};

}  // namespace kgpu::cli
