// A cluster in simulated time, for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "testing/apiserver/api.h"
#include "testing/apiserver/json_fields.h"
#include "testing/cluster/cluster.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"

namespace kgpu::simcluster {

class ClusterTest : public ::testing::Test {
 protected:
  explicit ClusterTest(apiserver::ApiOptions options = {})
      : api_(loop_, options), cluster_(loop_, api_) {}
  ~ClusterTest() override { EXPECT_THAT(cluster_.problems(), ::testing::IsEmpty()); }

  void AddGpuNode(std::string_view name, std::string_view gpus = "8",
                  std::map<std::string, std::string> labels = {}) {
    ASSERT_OK(cluster_.AddNode({.name = std::string(name),
                                .labels = std::move(labels),
                                .resources = {{"nvidia.com/gpu", std::string(gpus)}}}));
  }
  void Create(std::string_view collection, std::string_view text) {
    ASSERT_OK(api_.Do("POST", collection, boost::json::parse(std::string(text))));
  }
  void Patch(std::string_view path, std::string_view text) {
    ASSERT_OK(api_.Do("PATCH", path, boost::json::parse(std::string(text))));
  }
  void Pass(std::chrono::milliseconds time = std::chrono::seconds(5)) { loop_.Advance(time); }

  boost::json::object Get(std::string_view path) {
    const auto found = api_.Find(path);
    return found == nullptr ? boost::json::object() : found->object();
  }
  std::vector<boost::json::object> Pods() {
    std::vector<boost::json::object> pods;
    for (const auto& [key, pod] : api_.store().All("pods")) {
      pods.push_back(pod->object());
    }
    return pods;
  }
  // "node phase" of each pod, sorted; "Ready" instead of "Running" if it is.
  std::vector<std::string> Places() {
    std::vector<std::string> places;
    for (const boost::json::object& pod : Pods()) {
      std::string phase(apiserver::TextAt(pod, {"status", "phase"}));
      for (const auto& item : apiserver::ItemsAt(pod, {"status", "conditions"})) {
        if (apiserver::TextAt(item.as_object(), {"type"}) == "Ready" &&
            apiserver::TextAt(item.as_object(), {"status"}) == "True") {
          phase = "Ready";
        }
      }
      places.push_back(fmt::format("{} {}", apiserver::TextAt(pod, {"spec", "nodeName"}), phase));
    }
    std::ranges::sort(places);
    return places;
  }
  // Of a pod, its condition PodScheduled's message.
  std::string WhyUnscheduled(std::string_view name) {
    const boost::json::object pod = Get(fmt::format("/api/v1/namespaces/default/pods/{}", name));
    for (const auto& item : apiserver::ItemsAt(pod, {"status", "conditions"})) {
      if (apiserver::TextAt(item.as_object(), {"type"}) == "PodScheduled") {
        return std::string(apiserver::TextAt(item.as_object(), {"message"}));
      }
    }
    return "";
  }
  void CreatePod(std::string_view name, std::string_view spec) {
    Create("/api/v1/namespaces/default/pods",
           fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{}}})", name, spec));
  }
  // A pod that requests GPUs; `more` follows in its spec: `,"nodeSelector":{}`.
  void CreateGpuPod(std::string_view name, int gpus, std::string_view more = "") {
    CreatePod(name, fmt::format(R"({{"containers":[{{"name":"c","image":"i",
        "resources":{{"limits":{{"nvidia.com/gpu":"{}"}}}}}}]{}}})",
                                gpus, more));
  }

  FakeLoop loop_;
  apiserver::Api api_;
  Cluster cluster_;
};

}  // namespace kgpu::simcluster
