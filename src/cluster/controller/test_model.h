// A model with policies, nodes and pods as text, for tests of plans.
#pragma once

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "src/cluster/controller/model.h"
#include "src/cluster/controller/writes.h"
#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"

namespace kgpu::controller {

class ModelTest : public ::testing::Test {
 protected:
  static constexpr WallTime kNow{std::chrono::seconds(1'800'000'000)};

  static boost::json::value Yaml(std::string_view text) {
    auto value = doc::Parse(text, doc::Format::kYaml, "test.yaml");
    EXPECT_OK(value);
    return value.ok() ? *std::move(value) : boost::json::value();
  }
  void AddPolicy(const std::string& name, std::string_view spec, std::string_view status = "{}") {
    model_.PutPolicy({{"metadata",
                       {{"name", name},
                        {"uid", "uid-" + name},
                        {"resourceVersion", "1"},
                        {"generation", ++generation_}}},
                      {"spec", Yaml(spec)},
                      {"status", Yaml(status)}},
                     SteadyTime{}, false);
  }
  void AddNode(const std::string& name, std::string_view annotations = "{}",
               std::string_view spec = "{}", bool is_ready = true, bool is_healthy = true,
               const std::string& driver = "535.1") {
    boost::json::value node =
        Yaml(fmt::format(R"(
status:
  allocatable: {{nvidia.com/gpu: "8"}}
  conditions: [{{type: Ready, status: "{}"}}, {{type: GPUReady, status: "True"}},
               {{type: GPUHealthy, status: "{}", reason: GpuLost}}]
)",
                         is_ready ? "True" : "False", is_healthy ? "True" : "False"));
    node.as_object()["metadata"] = {
        {"name", name},
        {"uid", "uid-" + name},
        {"resourceVersion", "1"},
        {"labels",
         {{"nvidia.com/gpu.present", "true"}, {"nvidia.com/cuda.driver-version.full", driver}}},
        {"annotations", Yaml(annotations)}};
    node.as_object()["spec"] = Yaml(spec);
    model_.PutNode(node, SteadyTime{}, false);
  }
  static std::string Record(fleet::UpgradeState state, const std::string& policy = "p") {
    return boost::json::serialize(
        boost::json::value{{fleet::kUpgradeAnnotation,
                            fleet::PrintRecord(fleet::UpgradeRecord{.state = state,
                                                                    .since = kNow,
                                                                    .from = "535.1",
                                                                    .to = "550",
                                                                    .policy = policy,
                                                                    .group = "g",
                                                                    .is_cordoned = true})}});
  }
  // In the namespace "team"; `owner`: "ReplicaSet", or empty.
  void AddGpuPod(const std::string& node, const std::string& name, const std::string& owner) {
    boost::json::value pod = {
        {"metadata",
         {{"namespace", "team"},
          {"name", name},
          {"uid", name},
          {"ownerReferences",
           owner.empty() ? boost::json::array() : boost::json::array{{{"kind", owner}}}}}},
        {"spec",
         {{"nodeName", node},
          {"containers",
           boost::json::array{{{"resources", {{"limits", {{"nvidia.com/gpu", 1}}}}}}}}}},
        {"status", {{"phase", "Running"}}}};
    fleet::TrimPod(pod);
    model_.PutPod(std::make_shared<boost::json::value>(std::move(pod)));
  }

  Model model_;
  PodSettings pods_{.image = "kgpu:1"};
  int64_t generation_ = 0;
};

}  // namespace kgpu::controller
