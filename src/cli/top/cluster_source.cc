#include "src/cli/top/cluster_source.h"

#include <utility>

#include <fmt/format.h>

#include "src/cli/top/cluster_view.h"
#include "src/cli/top/header.h"
#include "src/kube/api/run_until_done.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/time_text.h"

namespace kgpu::top {

StatusOr<gpus::Summary> ReadClusterGpus(cli::ClusterApi& api, const gpus::Filter& filter) {
  ASSIGN_OR_RETURN(gpus::Summary summary,
                   kube::RunUntilDone<gpus::Summary>(api.loop(), [&](auto done) {
                     return std::make_unique<gpus::ClusterReader>(api.loop_client(), done);
                   }));
  return gpus::Filtered(std::move(summary), filter);
}

ClusterSource::ClusterSource(cli::ClusterApi& api, ClusterSourceOptions options,
                             gpus::Summary first)
    : api_(api), options_(std::move(options)), summary_(std::move(first)), time_(Now()) {
}

std::string ClusterSource::Now() const {
  return FormatTime(api_.loop().clock().WallNow());
}

void ClusterSource::Ask(std::function<void()> done) {
  reader_ = std::make_unique<gpus::ClusterReader>(
      api_.loop_client(), [this, done = std::move(done)](StatusOr<gpus::Summary> summary) {
        if (summary.ok()) {
          summary_ = gpus::Filtered(*std::move(summary), options_.filter);
          time_ = Now();
          trouble_.clear();
        } else {
          trouble_ = fmt::format("since {}: {}", ClockText(time_), Message(summary.status()));
        }
        done();
      });
}

View ClusterSource::Show(const ListState& state, size_t columns, const terminal::Look& look) const {
  return ClusterView(summary_, time_, state, columns, look, trouble_);
}

Page ClusterSource::PageOf(const Target& target, const terminal::Look& /*look*/) const {
  return {.title = "kgpu explain pod " + target.name};
}

std::vector<std::string> ClusterSource::CommandFor(const Target& target) const {
  std::vector<std::string> words = {"explain", "pod",      target.name, "--color",
                                    "never",   "--output", "table"};
  if (!options_.access.kubeconfig.empty()) {
    words.insert(words.end(), {"--kubeconfig", options_.access.kubeconfig});
  }
  if (!options_.access.context.empty()) {
    words.insert(words.end(), {"--context", options_.access.context});
  }
  return words;
}

}  // namespace kgpu::top
