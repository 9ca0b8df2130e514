#include "tests/integration/plugin_run.h"

#include <condition_variable>
#include <cstdint>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "src/node/plugin/device_plugin.h"
#include "src/platform/base/event_loop.h"

namespace kgpu::integration {

struct PluginRun::State {
  // Runs `task` on the plugin's thread and hands its result back.
  template <typename F>
  auto Run(F task) {
    std::packaged_task<decltype(task())()> packaged(std::move(task));
    auto result = packaged.get_future();
    loop->Post(
        [shared = std::make_shared<decltype(packaged)>(std::move(packaged))] { (*shared)(); });
    return result.get();
  }

  void Changed() {
    {
      const std::lock_guard lock(mutex);
      ++version;
    }
    changed.notify_all();
  }

  std::unique_ptr<EpollLoop> loop = EpollLoop::Create().value();
  std::unique_ptr<plugin::DevicePlugin> plugin;

  std::mutex mutex;
  std::condition_variable changed;
  uint64_t version = 0;

  std::jthread thread;
};

PluginRun::PluginRun(config::Registration registration, const plugin::EndpointOptions& options)
    : state_(std::make_unique<State>()) {
  state_->thread = std::jthread([this] { state_->loop->Run(); });
  state_->Run([&] {
    state_->plugin = std::make_unique<plugin::DevicePlugin>(
        *state_->loop, registration, options, [state = state_.get()] { state->Changed(); });
  });
}

PluginRun::~PluginRun() {
  state_->Run([this] { state_->plugin.reset(); });
  state_->loop->Quit();
  state_->thread.join();
}

void PluginRun::Show(const std::vector<plugin::ResourceViewPtr>& views) {
  state_->Run([&] { state_->plugin->Show(views); });
}

plugin::EndpointStatus PluginRun::StatusOf(const std::string& resource) const {
  return state_->Run([&] {
    for (plugin::EndpointStatus& status : state_->plugin->status()) {
      if (status.resource == resource) {
        return std::move(status);
      }
    }
    return plugin::EndpointStatus();
  });
}

bool PluginRun::WaitForStatus(const std::string& resource,
                              const std::function<bool(const plugin::EndpointStatus&)>& condition,
                              std::chrono::milliseconds limit) const {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    uint64_t seen = 0;
    {
      const std::lock_guard lock(state_->mutex);
      seen = state_->version;
    }
    if (condition(StatusOf(resource))) {
      return true;
    }
    std::unique_lock lock(state_->mutex);
    if (!state_->changed.wait_until(lock, end, [&] { return state_->version != seen; })) {
      return false;
    }
  }
}

}  // namespace kgpu::integration
