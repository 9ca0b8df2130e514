// Knows the container runtime below the kubelet, and queries it again from time to time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/container/cri/runtime_facts.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"

namespace kgpu::watch {

// Lives on the loop's thread.
class RuntimeWatch {
 public:
  // `sockets`: possible sockets of a runtime, most likely first; uses the first that exists. Calls
  // `changed` on the loop after facts() has changed. `loop` must outlive the watch.
  RuntimeWatch(EventLoop& loop, std::vector<std::string> sockets, std::function<void()> changed);
  RuntimeWatch(const RuntimeWatch&) = delete;
  RuntimeWatch& operator=(const RuntimeWatch&) = delete;

  // Nothing until the first answer, or the first failure.
  const std::optional<StatusOr<cri::RuntimeFacts>>& facts() const { return facts_; }

 private:
  void Ask();
  void OnAnswer(StatusOr<cri::RuntimeFacts> facts);

  EventLoop& loop_;
  const std::vector<std::string> sockets_;
  std::function<void()> changed_;
  std::optional<StatusOr<cri::RuntimeFacts>> facts_;
  std::unique_ptr<cri::Question> question_;
  Timer again_{loop_};
};

}  // namespace kgpu::watch
