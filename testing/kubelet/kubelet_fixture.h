// Shared by the tests of the stub kubelet: a running kubelet, and sample plugins.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "testing/kubelet/fake_kubelet.h"
#include "testing/kubelet/sample_plugin.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::kubelet {

inline constexpr const char* kWidget = "example.com/widget";

class KubeletFixture : public ::testing::Test {
 protected:
  explicit KubeletFixture(FakeKubelet::Options options = {}) : kubelet_(Complete(options)) {}

  void SetUp() override { ASSERT_OK(kubelet_.Start()); }

  // A plugin in the plugin folder that is not registered yet.
  std::unique_ptr<SamplePlugin> Plugin(int devices, SamplePlugin::Behaviour behaviour = {},
                                       PluginOptions options = {}) const {
    return std::make_unique<SamplePlugin>(
        SamplePlugin::Options{.socket_path = kubelet_.layout().device_plugins() + "/widget.sock",
                              .resource = kWidget,
                              .devices = SamplePlugin::Devices(devices),
                              .options = options},
        std::move(behaviour));
  }
  // The same, registered, with its devices in the node's status.
  std::unique_ptr<SamplePlugin> Registered(int devices, SamplePlugin::Behaviour behaviour = {},
                                           PluginOptions options = {}) {
    auto plugin = Plugin(devices, std::move(behaviour), options);
    EXPECT_OK(plugin->Register(kubelet_.layout().kubelet_socket()));
    EXPECT_TRUE(WaitForWidgets(devices, devices));
    return plugin;
  }

  bool WaitForWidgets(int64_t allocatable, int64_t capacity) const {
    return kubelet_.WaitForResource(kWidget, {.capacity = capacity, .allocatable = allocatable});
  }
  ContainerStatus Container(const std::string& pod, const std::string& name = "main") const {
    const std::optional<Pod> found = kubelet_.FindPod(pod);
    if (found) {
      for (const ContainerStatus& container : found->status.containers) {
        if (container.name == name) {
          return container;
        }
      }
    }
    ADD_FAILURE() << "no container " << name << " in pod " << pod;
    return {};
  }
  DeviceIds IdsOf(const std::string& pod, const std::string& container = "main") const {
    return Container(pod, container).devices[kWidget];
  }

  TempDir dir_;
  FakeKubelet kubelet_;

 private:
  FakeKubelet::Options Complete(FakeKubelet::Options options) const {
    options.root = dir_.At("kubelet");
    const uint32_t requests_per_second = options.constants.requests_per_second;
    options.constants = Scaled(1.0 / 600);
    options.constants.requests_per_second = requests_per_second;
    options.constants.dial_limit = std::chrono::milliseconds(300);
    return options;
  }
};

}  // namespace kgpu::kubelet
