// The GPUs of a cluster: counts from its API server, and what they do from its agents.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/cli/cluster/cluster_api.h"
#include "src/cli/top/agents.h"
#include "src/cli/top/source.h"
#include "src/cluster/gpus/groups.h"
#include "src/cluster/gpus/reader.h"
#include "src/cluster/gpus/summary.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::top {

// Which GPUs.
struct ClusterQuery {
  gpus::Filter filter{};
  bool asks_agents = true;
};

// One reading. Thread: the loop's. Destroying it cancels it.
class ClusterReading {
 public:
  using Done = std::function<void(StatusOr<gpus::Summary>)>;

  // As gpus::ClusterReader, with what the agents say. `client` must outlive it.
  ClusterReading(kube::Client& client, ClusterQuery query, Done done, bool is_repeated = true);

 private:
  void OnSummary(StatusOr<gpus::Summary> summary);

  kube::Client& client_;
  const ClusterQuery query_;
  Done done_;
  gpus::Summary summary_;
  gpus::ClusterReader reader_;
  std::unique_ptr<AgentsReader> agents_;
};

struct ClusterSourceOptions {
  cli::ClusterAccess access{};
  ClusterQuery query{};
  std::chrono::milliseconds every{10'000};
};

// One summary, by the loop of `api`, which nobody else runs. Errors: as gpus::ClusterReader.
StatusOr<gpus::Summary> ReadClusterGpus(cli::ClusterApi& api, const ClusterQuery& query);

// `api` must outlive it.
class ClusterSource final : public Source {
 public:
  ClusterSource(cli::ClusterApi& api, ClusterSourceOptions options, gpus::Summary first);

  void Ask(std::function<void()> done) override;
  std::chrono::milliseconds every() const override { return options_.every; }
  View Show(const ListState& state, size_t columns, const terminal::Look& look) const override;
  Page PageOf(const Target& target, const terminal::Look& look) const override;
  std::vector<std::string> CommandFor(const Target& target) const override;

 private:
  std::string Now() const;

  cli::ClusterApi& api_;
  const ClusterSourceOptions options_;
  gpus::Summary summary_;
  std::string time_;     // of `summary_`
  std::string trouble_;  // why it is an old one; empty: it is the last answer
  std::unique_ptr<ClusterReading> reading_;
};

}  // namespace kgpu::top
