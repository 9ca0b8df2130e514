// A stub kubelet and only the device plugin, for both ways of registration.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/node/plugin/device_plugin.h"
#include "src/node/plugin/endpoint.h"
#include "src/node/plugin/kubelet.h"
#include "testing/kubelet/fake_kubelet.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "tests/integration/kubelet_times.h"
#include "tests/integration/made_up_views.h"
#include "tests/integration/plugin_caller.h"
#include "tests/integration/plugin_run.h"
#include "tests/integration/wait_for_file.h"

namespace kgpu::integration {

using config::Registration;
using kubelet::FakeKubelet;
using kubelet::PodPhase;
using std::chrono::milliseconds;

class PluginFixture : public ::testing::TestWithParam<Registration> {
 protected:
  void SetUp() override { ASSERT_OK(kubelet_.Start()); }

  bool is_watched() const { return GetParam() == Registration::kPluginWatcher; }
  // Where the plugin's sockets are.
  std::string Folder() const {
    return is_watched() ? kubelet_.layout().plugins_registry() : kubelet_.layout().device_plugins();
  }
  std::string Socket() const { return Folder() + "/" + plugin::SocketName(kGpus); }
  // The kubelet's first call to a plugin, whose count tells how often it was registered.
  const char* GreetingCall() const { return is_watched() ? "GetInfo" : "Register"; }
  // From now on the plugin's registrations fail: refused with `text`, or not even noticed.
  void Withhold(const std::string& text = "not today") {
    kubelet_.Inject(kubelet::kRegisterPoint, {.kind = kubelet::FaultKind::kError, .text = text});
    kubelet_.Inject(kubelet::kWatcherPoint, {.kind = kubelet::FaultKind::kSkip});
  }

  plugin::EndpointOptions Options() const {
    plugin::EndpointOptions options;
    options.kubelet_dir = kubelet_.layout().root;
    options.first_backoff = milliseconds(20);
    options.last_backoff = milliseconds(200);
    options.stream_deadline = std::chrono::seconds(2);
    return options;
  }
  void StartPlugin(const std::vector<plugin::ResourceViewPtr>& views) {
    plugin_ = std::make_unique<PluginRun>(GetParam(), Options());
    plugin_->Show(views);
  }
  // With `gpus` GPUs in the node's status.
  void StartRegistered(size_t gpus) {
    StartPlugin({GpuView(gpus)});
    ASSERT_TRUE(WaitForGpus(static_cast<int64_t>(gpus), static_cast<int64_t>(gpus)));
  }
  void Show(size_t gpus, const std::set<size_t>& unhealthy = {}) {
    plugin_->Show({GpuView(gpus, unhealthy)});
  }

  bool WaitForGpus(int64_t allocatable, int64_t capacity) const {
    return kubelet_.WaitForResource(kGpus, {.capacity = capacity, .allocatable = allocatable},
                                    PluginRun::kPatience);
  }
  bool WaitForState(plugin::EndpointState state) const {
    return plugin_->WaitForStatus(
        kGpus, [state](const plugin::EndpointStatus& status) { return status.state == state; });
  }
  // The kubelet reads our list, now and later: a change reaches it.
  void ExpectLive(size_t gpus) {
    const auto count = static_cast<int64_t>(gpus);
    ASSERT_TRUE(WaitForGpus(count, count));
    ASSERT_TRUE(WaitForState(plugin::EndpointState::kRegistered));
    Show(gpus, {0});
    EXPECT_TRUE(WaitForGpus(count - 1, count));
    Show(gpus);
    EXPECT_TRUE(WaitForGpus(count, count));
    // Another thread records the end of an older one.
    EXPECT_TRUE(kubelet_.WaitFor([this] { return OpenStreams() == 1; }, PluginRun::kPatience));
  }
  // ListAndWatch calls of the kubelet that have not ended.
  size_t OpenStreams() const {
    size_t open = 0;
    for (const kubelet::CallRecord& call : kubelet_.Calls()) {
      open += call.method == "ListAndWatch" && !call.reply ? 1 : 0;
    }
    return open;
  }
  std::vector<kubelet::CallRecord> CallsOf(const std::string& method) const {
    std::vector<kubelet::CallRecord> calls;
    for (kubelet::CallRecord& call : kubelet_.Calls()) {
      if (call.method == method) {
        calls.push_back(std::move(call));
      }
    }
    return calls;
  }
  kubelet::ContainerStatus Container(const std::string& pod) const {
    const std::optional<kubelet::Pod> found = kubelet_.FindPod(pod);
    if (!found || found->status.containers.empty()) {
      ADD_FAILURE() << "no container in pod " << pod;
      return {};
    }
    return found->status.containers.front();
  }
  std::unique_ptr<PluginCaller> Caller() const {
    auto caller = PluginCaller::Connect(Socket());
    EXPECT_OK(caller.status());
    return caller.ok() ? *std::move(caller) : nullptr;
  }

  TempDir dir_;
  FakeKubelet kubelet_{{.root = dir_.At("kubelet"), .constants = ShortTimes()}};
  std::unique_ptr<PluginRun> plugin_;
};

}  // namespace kgpu::integration
