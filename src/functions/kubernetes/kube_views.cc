// The answers of KubeProvider: functions, logs, use and metrics.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <utility>

#include "src/functions/kubernetes/kube_provider.h"
#include "src/functions/kubernetes/pod_logs.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::functions {

namespace json = boost::json;

json::object KubeProvider::ViewOf(const Entry& entry) {
  const FunctionPods& pods = *entry.pods;
  const std::string_view state = pods.state();
  return pods.View(entry.facts.replicas,
                   {{"namespace", entry.space},
                    {"state", doc::View(state)},
                    {"problem", pods.pods().empty() ? entry.facts.problem : pods.Problem()},
                    {"deployed", entry.facts.deployed}});
}

json::object KubeProvider::View(const std::string& key) const {
  return ViewOf(entries_.at(key));
}

json::array KubeProvider::Views(std::string_view space) const {
  const std::string_view wanted = space.empty() ? options_.spaces.front() : space;
  json::array views;
  for (const auto& [key, entry] : entries_) {
    if (entry.space == wanted) {
      views.push_back(ViewOf(entry));
    }
  }
  return views;
}

std::vector<std::string> KubeProvider::PodNames(const Entry& entry) const {
  std::vector<std::string> names;
  for (const auto& [name, pod] : entry.pods->pods()) {
    if (pod->facts().has_node) {
      names.push_back(name);
    }
  }
  return names;
}

void KubeProvider::ReadLogs(const std::string& key, const LogRequest& request,
                            std::function<void(StatusOr<std::string>)> done) {
  const Entry& entry = entries_.at(key);
  const std::vector<std::string> pods = PodNames(entry);
  if (pods.empty()) {
    return done(std::string());
  }
  constexpr size_t kMostLogReads = 8;
  if (log_reads_.size() >= kMostLogReads) {
    return done(
        ResourceExhausted("logs: {} are being read already: try again later", kMostLogReads));
  }
  const uint64_t number = ++last_read_;
  log_reads_[number] =
      std::make_unique<PodLogRead>(clients_.main, entry.space, pods, request,
                                   [this, number, done = std::move(done)](std::string text) {
                                     const auto ended = log_reads_.extract(number);
                                     done(std::move(text));
                                   });
}

StatusOr<std::unique_ptr<LogReader>> KubeProvider::FollowLogs(
    const std::string& key, std::function<bool(std::string_view)> write,
    std::function<void()> ended) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    return NotFound("function {}: is not deployed", key);  // it was deleted meanwhile
  }
  const Entry& entry = found->second;
  return std::make_unique<PodLogFollow>(clients_.main, entry.space, PodNames(entry),
                                        loop_.clock().WallNow(), std::move(write),
                                        std::move(ended));
}

std::map<std::string, FunctionUse> KubeProvider::UsageSince(WallTime from) {
  for (const auto& [key, entry] : entries_) {
    entry.pods->CountGpuTime();
  }
  return usage_.Since(from);
}

std::string KubeProvider::MetricsPage(metrics::Format format) {
  for (const auto& [key, entry] : entries_) {
    entry.pods->CountGpuTime();
  }
  metrics::Exposition page(format);
  page.Family("kgpu_gateway_scales", metrics::Type::kGauge,
              "1: this gateway decides on fewer replicas; 0: another one does");
  page.Sample(is_scaling() ? 1 : 0);
  page.Family("kgpu_namespace_gpu_seconds_today", metrics::Type::kGauge,
              "GPU time that the functions of a namespace have held since 00:00 UTC");
  for (const std::string& space : options_.spaces) {
    page.Sample({{"namespace", space}}, gpu_time_->Today(space));
  }
  page.Family("kgpu_namespace_gpu_seconds_per_day", metrics::Type::kGauge,
              "GPU time that the functions of a namespace may hold a day");
  for (const auto& [space, quota] : options_.gpu_seconds_per_day) {
    page.Sample({{"namespace", space}}, quota);
  }
  return meter_.Page(format) + page.Take();
}

}  // namespace kgpu::functions
