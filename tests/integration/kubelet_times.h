// The time limits of the stub kubelet in these tests.
#pragma once

#include <chrono>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "src/node/config/node_config.h"
#include "testing/kubelet/constants.h"

namespace kgpu::config {

// For gtest.
inline void PrintTo(Registration registration, std::ostream* out) {
  *out << (registration == Registration::kKubeletSocket ? "kubelet-socket" : "plugin-watcher");
}

}  // namespace kgpu::config

namespace kgpu::integration {

// The times of kubelet 1.36, shortened, except what a plugin must meet: machines may be busy.
inline kubelet::Constants ShortTimes() {
  using std::chrono::milliseconds;
  kubelet::Constants constants = kubelet::Scaled(1.0 / 600);
  constants.dial_limit = std::chrono::seconds(10);
  constants.get_info_limit = std::chrono::seconds(10);
  constants.notify_limit = std::chrono::seconds(10);
  constants.dial_retry = milliseconds(5);
  constants.retry_longest = milliseconds(50);
  constants.stop_grace = std::chrono::seconds(2);
  return constants;
}

// Of a parameterised test.
inline std::string NameOf(const ::testing::TestParamInfo<config::Registration>& way) {
  return way.param == config::Registration::kKubeletSocket ? "KubeletSocket" : "PluginWatcher";
}

}  // namespace kgpu::integration
