// PrintNodeConfig of node_config.h.
#include <boost/json.hpp>

#include <span>
#include <string>
#include <utility>

#include "src/node/config/health_reader.h"
#include "src/node/config/node_config.h"
#include "src/node/config/selector_reader.h"
#include "src/node/config/share_reader.h"
#include "src/node/config/words.h"
#include "src/platform/base/duration.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::config {
namespace {

namespace json = boost::json;

using doc::Texts;

template <typename Enum>
json::value WordOf(std::span<const Word<Enum>> words, Enum value) {
  return json::value(doc::View(NameOf(words, value)));
}

template <typename Enum>
json::array WordsOf(std::span<const Word<Enum>> words, const std::vector<Enum>& values) {
  json::array list;
  for (const Enum value : values) {
    list.push_back(WordOf(words, value));
  }
  return list;
}

json::value PoolTree(const Pool& pool) {
  json::object fields;
  if (!pool.resource.empty()) {
    fields["resource"] = pool.resource;
  }
  fields["devices"] = SelectorTree(pool.devices);
  if (pool.mig) {
    fields["mig"] = WordOf<MigStrategy>(kPoolMigWords, *pool.mig);
  }
  if (pool.removes_unclaimed) {
    fields["removeUnclaimed"] = true;
  }
  if (sharing::IsShared(pool.share)) {
    fields["share"] = ShareTree(pool.share);
  }
  if (pool.provider != Provider::kKubelet) {
    fields["provider"] = WordOf<Provider>(kProviderWords, pool.provider);
  }
  return fields;
}

json::value PluginTree(const PluginConfig& plugin) {
  const json::array strategies = WordsOf<DeviceListStrategy>(kStrategyWords, plugin.strategies);
  return json::object{
      {"deviceListStrategy", strategies.size() == 1 ? strategies.front() : json::value(strategies)},
      {"deviceIds", WordOf<DeviceIdStrategy>(kDeviceIdWords, plugin.device_ids)},
      {"sharedPolicy", WordOf<SharedPolicy>(kSharedPolicyWords, plugin.shared_policy)},
      {"registration", WordOf<Registration>(kRegistrationWords, plugin.registration)},
      {"cdiAnnotationPrefix", plugin.cdi_annotation_prefix},
      {"capabilities", plugin.capabilities}};
}

json::value LabelsTree(const LabelsConfig& labels) {
  return json::object{{"features", labels.features},
                      {"gpus", labels.gpus},
                      {"to", WordsOf<LabelOutput>(kLabelOutputWords, labels.outputs)},
                      {"file", labels.file},
                      {"rules", Texts(labels.rules)},
                      {"ruleObjects", labels.rule_objects},
                      {"featureFiles", labels.feature_files},
                      {"nfdWorker", labels.nfd_worker},
                      {"nfdMaster", labels.nfd_master},
                      {"every", FormatDuration(labels.every)}};
}

// Where each set has its page, who may read it: only what is set.
void AddEndpoints(const MetricsConfig& metrics, json::object& fields) {
  json::object listen;
  if (metrics.listen.dcgm) {
    listen["dcgm"] = *metrics.listen.dcgm;
  }
  if (metrics.listen.gke) {
    listen["gke"] = *metrics.listen.gke;
  }
  if (!listen.empty()) {
    fields["listen"] = std::move(listen);
  }
  if (metrics.tls != MetricsTls()) {
    json::object& tls = fields["tls"].emplace_object();
    tls = {{"certificate", metrics.tls.certificate}, {"key", metrics.tls.key}};
    if (!metrics.tls.client_ca.empty()) {
      tls["clientCA"] = metrics.tls.client_ca;
    }
  }
  if (metrics.auth.by != TokenBy::kNobody) {
    json::object& auth = fields["auth"].emplace_object();
    auth["by"] = WordOf<TokenBy>(kTokenByWords, metrics.auth.by);
    if (!metrics.auth.file.empty()) {
      auth["file"] = metrics.auth.file;
    }
    if (!metrics.auth.audiences.empty()) {
      auth["audiences"] = Texts(metrics.auth.audiences);
    }
  }
}

json::value MetricsTree(const MetricsConfig& metrics) {
  json::object fields{{"names", WordsOf<NameSet>(kNameSetWords, metrics.names)},
                      {"every", FormatDuration(metrics.every)}};
  if (!metrics.exclude.empty()) {
    fields["exclude"] = Texts(metrics.exclude);
  }
  if (!metrics.dcgm_labels.empty()) {
    fields["dcgmLabels"] = WordsOf<DcgmLabel>(kDcgmLabelWords, metrics.dcgm_labels);
  }
  AddEndpoints(metrics, fields);
  return fields;
}

}  // namespace

std::string PrintNodeConfig(const NodeConfig& config, doc::Format format) {
  json::object fields{{"apiVersion", doc::View(kApiVersion)}, {"kind", doc::View(kNodeConfigKind)}};
  if (!config.exclude.empty()) {
    json::array& exclude = fields["exclude"].emplace_array();
    for (const Selector& selector : config.exclude) {
      exclude.push_back(SelectorTree(selector));
    }
  }
  json::array pools;
  for (const Pool& pool : config.pools) {
    pools.push_back(PoolTree(pool));
  }
  fields["pools"] = std::move(pools);
  fields["migStrategy"] = WordOf<MigStrategy>(kMigStrategyWords, config.mig);
  fields["plugin"] = PluginTree(config.plugin);
  fields["health"] = HealthTree(config.health);
  fields["http"] = json::object{{"address", config.http.address}};
  fields["metrics"] = MetricsTree(config.metrics);
  fields["usage"] = json::object{{"enabled", config.usage.enabled},
                                 {"retention", fmt::format("{}d", config.usage.retention.count())}};
  fields["labels"] = LabelsTree(config.labels);
  fields["gate"] = json::object{{"condition", config.gate.condition}, {"taint", config.gate.taint}};
  return doc::Print(fields, format);
}

}  // namespace kgpu::config
