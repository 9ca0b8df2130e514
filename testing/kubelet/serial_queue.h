// The kubelet's main loop: one task after the other. A plugin that does not answer Allocate blocks
// the whole node.
#pragma once

#include <deque>
#include <functional>
#include <utility>

#include "src/platform/base/event_loop.h"
#include "testing/kubelet/lifeline.h"

namespace kgpu::kubelet {

// Lives on the loop's thread.
class SerialQueue {
 public:
  using Done = std::function<void()>;
  using Task = std::function<void(Done)>;

  // `loop` must outlive the queue.
  explicit SerialQueue(EventLoop& loop) : loop_(loop) {}

  // Runs `task` on the loop when every task before it has called its Done.
  void Push(Task task) {
    tasks_.push_back(std::move(task));
    Next();
  }

 private:
  void Next() {
    if (is_busy_ || tasks_.empty()) {
      return;
    }
    is_busy_ = true;
    loop_.Post(lifeline_.Guard([this] {
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      task(lifeline_.Guard([this] {
        is_busy_ = false;
        Next();
      }));
    }));
  }

  EventLoop& loop_;
  std::deque<Task> tasks_;
  bool is_busy_ = false;
  Lifeline lifeline_;
};

}  // namespace kgpu::kubelet
