// Objects of a cluster for tests.
#pragma once

#include <boost/json/value.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"

namespace kgpu::gpus {

inline boost::json::value Parsed(std::string_view yaml) {
  auto value = doc::Parse(yaml, doc::Format::kYaml, "test.yaml");
  EXPECT_OK(value);
  return value.ok() ? *std::move(value) : boost::json::value();
}

inline std::string GpuNodeText(const std::string& name, uint64_t capacity, uint64_t allocatable,
                               std::string_view spec = "{}", std::string_view ready = "True") {
  return fmt::format(
      "{{metadata: {{name: {0}, labels: {{kgpu.dev/gpu.model.T4.count: '8'}}}}, spec: {1}, "
      "status: {{capacity: {{cpu: '4', nvidia.com/gpu: '{2}'}}, allocatable: {{nvidia.com/gpu: "
      "'{3}'}}, conditions: [{{type: Ready, status: 'True'}}, {{type: GPUReady, status: '{4}', "
      "reason: DriverNoLibrary, message: run kgpu doctor}}]}}}}",
      name, spec, capacity, allocatable, ready);
}

inline std::string GpuPodText(const std::string& space, const std::string& name,
                              const std::string& node, uint64_t count,
                              std::string_view status = "{phase: Running}") {
  return fmt::format(
      "{{metadata: {{namespace: {0}, name: {1}}}, spec: {{nodeName: '{2}', containers: [{{name: "
      "c, image: i, resources: {{limits: {{nvidia.com/gpu: '{3}'}}}}}}]}}, status: {4}}}",
      space, name, node, count, status);
}

}  // namespace kgpu::gpus
