#include "src/cli/top/cluster_source.h"

#include <utility>

#include <fmt/format.h>

#include "src/cli/top/cluster_view.h"
#include "src/cli/top/header.h"
#include "src/kube/api/run_until_done.h"
#include "src/platform/base/time_text.h"

namespace kgpu::top {

ClusterReading::ClusterReading(kube::Client& client, ClusterQuery query, Done done,
                               bool is_repeated)
    : client_(client),
      query_(std::move(query)),
      done_(std::move(done)),
      reader_(
          client, [this](StatusOr<gpus::Summary> summary) { OnSummary(std::move(summary)); },
          is_repeated) {
}

// `done_` may destroy us.
void ClusterReading::OnSummary(StatusOr<gpus::Summary> summary) {
  if (!summary.ok() || !query_.asks_agents) {
    const Done done = std::move(done_);
    return done(summary.ok() ? gpus::Filtered(*std::move(summary), query_.filter)
                             : std::move(summary));
  }
  summary_ = *std::move(summary);
  agents_ =
      std::make_unique<AgentsReader>(client_, query_.filter.node, [this](AgentsAnswer answer) {
        summary_.uses = std::move(answer.uses);
        if (!answer.problem.empty()) {
          summary_.unreadable.push_back(std::move(answer.problem));
        }
        const Done done = std::move(done_);
        done(gpus::Filtered(std::move(summary_), query_.filter));
      });
}

StatusOr<gpus::Summary> ReadClusterGpus(cli::ClusterApi& api, const ClusterQuery& query) {
  return kube::RunUntilDone<gpus::Summary>(api.loop(), [&](auto done) {
    return std::make_unique<ClusterReading>(api.loop_client(), query, done);
  });
}

ClusterSource::ClusterSource(cli::ClusterApi& api, ClusterSourceOptions options,
                             gpus::Summary first)
    : api_(api), options_(std::move(options)), summary_(std::move(first)), time_(Now()) {
}

std::string ClusterSource::Now() const {
  return FormatTime(api_.loop().clock().WallNow());
}

void ClusterSource::Ask(std::function<void()> done) {
  constexpr bool kIsRepeated = false;  // a server that is gone is shown at once
  reading_ = std::make_unique<ClusterReading>(
      api_.loop_client(), options_.query,
      [this, done = std::move(done)](StatusOr<gpus::Summary> summary) {
        if (summary.ok()) {
          summary_ = *std::move(summary);
          time_ = Now();
          trouble_.clear();
        } else {
          trouble_ = fmt::format("since {}: {}", ClockText(time_), Message(summary.status()));
        }
        done();
      },
      kIsRepeated);
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
