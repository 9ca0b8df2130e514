// A cluster in simulated time with the dependencies of a run.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <optional>
#include <string>
#include <vector>

#include "src/cluster/run/start.h"
#include "src/kube/objects/test_cluster.h"
#include "testing/cluster/cluster.h"
#include "testing/status_matchers.h"

namespace kgpu::run {

class RunsFixture : public ::testing::Test {
 protected:
  ~RunsFixture() override { EXPECT_THAT(cluster_.problems(), ::testing::IsEmpty()); }

  void AddNode(const std::string& name, const std::string& gpus,
               std::map<std::string, std::string> labels = {}) {
    ASSERT_OK(cluster_.AddNode(
        {.name = name, .labels = std::move(labels), .resources = {{"nvidia.com/gpu", gpus}}}));
    api_.loop.Advance(std::chrono::seconds(1));
  }
  StartDeps Deps() {
    return {.client = api_.client,
            .judge = [this](const boost::json::value&) { return judgement_; },
            .explain = [](const std::string&,
                          const std::string& pod) { return "explained " + pod.substr(0, 5); },
            .find_cuda = [this](const std::string&) { return cuda_; },
            .note = [this](std::string_view text) { notes_.emplace_back(text); }};
  }
  static RunRequest Request(RunKind kind, std::string name = "train") {
    return {.kind = kind, .name = std::move(name), .image = "i:1", .token = "t0"};
  }
  // Prepares and creates.
  Status Begin(const RunRequest& request, bool is_dry_run = false) {
    const StatusOr<Prepared> prepared = Prepare(Deps(), request);
    return prepared.ok() ? Create(Deps(), request, *prepared, is_dry_run) : prepared.status();
  }
  // Objects that are not there from the beginning, and no pods, nodes or events.
  size_t Leftovers() const {
    size_t count = 0;
    for (const char* storage : {"jobs.batch", "deployments.apps", "services", "secrets",
                                "persistentvolumeclaims", "pods"}) {
      count += api_.api.store().All(storage).size();
    }
    return count;
  }

  kube::TestCluster api_;
  simcluster::Cluster cluster_{api_.loop, api_.api};
  Judgement judgement_{.prospect = Prospect::kFits};
  std::optional<CudaNeed> cuda_ = CudaNeed{.version = {12, 4}, .source = "test"};
  std::vector<std::string> notes_;
};

}  // namespace kgpu::run
