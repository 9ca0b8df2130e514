// PrintNodeConfig of node_config.h.
#include <boost/json.hpp>

#include <span>
#include <string>
#include <utility>

#include "src/node/config/health_reader.h"
#include "src/node/config/node_config.h"
#include "src/node/config/selector_reader.h"
#include "src/node/config/words.h"
#include "src/platform/base/duration.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::config {
namespace {

namespace json = boost::json;

using doc::Texts;

template <typename Enum>
json::value WordOf(std::span<const Word<Enum>> words, Enum value) {
  const std::string_view name = NameOf(words, value);
  return json::value(json::string_view(name.data(), name.size()));
}

json::value ShareTree(const Share& share) {
  return json::object{{"by", "time"},
                      {"replicas", share.replicas},
                      {"multiple", WordOf<MultipleSlots>(kMultipleWords, share.multiple)}};
}

json::value PoolTree(const Pool& pool) {
  json::object fields;
  if (!pool.resource.empty()) {
    fields["resource"] = pool.resource;
  }
  fields["devices"] = SelectorTree(pool.devices);
  if (pool.mig) {
    fields["mig"] = WordOf<MigStrategy>(kMigStrategyWords, *pool.mig);
  }
  if (pool.share.by != ShareBy::kNothing) {
    fields["share"] = ShareTree(pool.share);
  }
  return fields;
}

json::value PluginTree(const PluginConfig& plugin) {
  json::array strategies;
  for (const DeviceListStrategy strategy : plugin.strategies) {
    strategies.push_back(WordOf<DeviceListStrategy>(kStrategyWords, strategy));
  }
  return json::object{
      {"deviceListStrategy", strategies.size() == 1 ? strategies.front() : json::value(strategies)},
      {"deviceIds", WordOf<DeviceIdStrategy>(kDeviceIdWords, plugin.device_ids)},
      {"sharedPolicy", WordOf<SharedPolicy>(kSharedPolicyWords, plugin.shared_policy)},
      {"registration", WordOf<Registration>(kRegistrationWords, plugin.registration)},
      {"cdiAnnotationPrefix", plugin.cdi_annotation_prefix},
      {"capabilities", plugin.capabilities}};
}

json::value LabelsTree(const LabelsConfig& labels) {
  json::array outputs;
  for (const LabelOutput output : labels.outputs) {
    outputs.push_back(WordOf<LabelOutput>(kLabelOutputWords, output));
  }
  return json::object{{"features", labels.features},
                      {"gpus", labels.gpus},
                      {"to", outputs},
                      {"file", labels.file},
                      {"rules", Texts(labels.rules)},
                      {"ruleObjects", labels.rule_objects},
                      {"featureFiles", labels.feature_files},
                      {"nfdWorker", labels.nfd_worker},
                      {"nfdMaster", labels.nfd_master},
                      {"every", FormatDuration(labels.every)}};
}

// Where each set has its page, who may read it: only what is set.
void AddDoors(const MetricsConfig& metrics, json::object& fields) {
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
  json::array names;
  for (const NameSet name : metrics.names) {
    names.push_back(WordOf<NameSet>(kNameSetWords, name));
  }
  json::object fields{{"names", names}, {"every", FormatDuration(metrics.every)}};
  if (!metrics.exclude.empty()) {
    fields["exclude"] = Texts(metrics.exclude);
  }
  if (!metrics.dcgm_labels.empty()) {
    json::array& labels = fields["dcgmLabels"].emplace_array();
    for (const DcgmLabel label : metrics.dcgm_labels) {
      labels.push_back(WordOf<DcgmLabel>(kDcgmLabelWords, label));
    }
  }
  AddDoors(metrics, fields);
  return fields;
}

}  // namespace

std::string PrintNodeConfig(const NodeConfig& config, doc::Format format) {
  json::object fields{{"apiVersion", json::string_view(kApiVersion.data(), kApiVersion.size())},
                      {"kind", json::string_view(kNodeConfigKind.data(), kNodeConfigKind.size())}};
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
