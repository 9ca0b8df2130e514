// Knows the container runtime below the kubelet, and asks it again now and then.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/container/cri/runtime_facts.h"
#include "src/platform/base/event_loop.h"

namespace kgpu::agent {

// Lives on the loop's thread.
class RuntimeWatch {
 public:
  // `sockets`: where a runtime may listen, most likely first; the first that is there is asked.
  // `changed` is called on the loop after facts() has changed. `loop` outlives the watch.
  RuntimeWatch(EventLoop& loop, std::vector<std::string> sockets, std::function<void()> changed);
  ~RuntimeWatch();
  RuntimeWatch(const RuntimeWatch&) = delete;
  RuntimeWatch& operator=(const RuntimeWatch&) = delete;

  // Nothing until the first answer, or failure to get one.
  const std::optional<StatusOr<cri::RuntimeFacts>>& facts() const { return facts_; }

 private:
  void Ask();
  void OnAnswer(StatusOr<cri::RuntimeFacts> facts);

  EventLoop& loop_;
  const std::vector<std::string> sockets_;
  std::function<void()> changed_;
  std::optional<StatusOr<cri::RuntimeFacts>> facts_;
  std::unique_ptr<cri::Question> question_;
  TimerId again_ = TimerId::kNone;
};

}  // namespace kgpu::agent
