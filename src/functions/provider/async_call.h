// Asynchronous calls: their callers have left with code 202, and nobody gets the answer. A call
// that fails is made again, as often as the function allows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "src/functions/provider/function_call.h"
#include "src/platform/base/event_loop.h"

namespace kgpu::functions {

// Lives on the loop's thread.
class AsyncCalls {
 public:
  // Gives a call to its function; false if there is none.
  using Take = std::function<bool(const std::string& function, FunctionCall& call)>;

  // `loop` must outlive this.
  AsyncCalls(EventLoop& loop, Take take);
  AsyncCalls(const AsyncCalls&) = delete;
  AsyncCalls& operator=(const AsyncCalls&) = delete;

  // False if too many are under way, or too large ones.
  bool Start(const std::string& function, http::Request request, const std::string& call_id,
             int64_t retries);

 private:
  // What is under way.
  struct Load {
    size_t calls = 0;
    size_t bytes = 0;  // of their inputs
  };
  struct Job;
  class Sink;
  void Try(const std::shared_ptr<Job>& job);
  void OnEnd(const std::shared_ptr<Job>& job, int code);

  EventLoop& loop_;
  const Take take_;
  std::shared_ptr<Load> load_;
  std::shared_ptr<bool> is_alive_;
};

}  // namespace kgpu::functions
