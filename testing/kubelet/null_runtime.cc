#include "testing/kubelet/null_runtime.h"

namespace kgpu::kubelet {
namespace {

constexpr int kTerminated = 143;  // 128 + SIGTERM

}  // namespace

void NullRuntime::Start(const ContainerConfig& config, std::function<void(const Status&)> started) {
  runs_[config.id] = RunState{.is_running = true, .exit_code = 0};
  loop_.Post([started = std::move(started)] { started(OkStatus()); });
  if (config.exits_with) {
    loop_.Post(
        lifeline_.Guard([this, id = config.id, code = *config.exits_with] { Exit(id, code); }));
  }
}

void NullRuntime::Stop(const std::string& id, std::chrono::nanoseconds) {
  loop_.Post(lifeline_.Guard([this, id] { Exit(id, kTerminated); }));
}

std::optional<RunState> NullRuntime::Find(const std::string& id) const {
  const auto found = runs_.find(id);
  return found == runs_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> NullRuntime::List() const {
  std::vector<std::string> ids;
  ids.reserve(runs_.size());
  for (const auto& [id, state] : runs_) {
    ids.push_back(id);
  }
  return ids;
}

void NullRuntime::Remove(const std::string& id) {
  runs_.erase(id);
}

void NullRuntime::Exit(const std::string& id, int exit_code) {
  const auto found = runs_.find(id);
  if (found == runs_.end() || !found->second.is_running) {
    return;
  }
  found->second = RunState{.is_running = false, .exit_code = exit_code};
  if (on_exit_) {
    on_exit_(id, exit_code);
  }
}

}  // namespace kgpu::kubelet
