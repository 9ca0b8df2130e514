// ParseNodeConfig of node_config.h.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "src/node/config/foreign.h"
#include "src/node/config/health_reader.h"
#include "src/node/config/labels_reader.h"
#include "src/node/config/metrics_reader.h"
#include "src/node/config/node_config.h"
#include "src/node/config/node_config_reader.h"
#include "src/node/config/pool_rules.h"
#include "src/node/config/resource_name.h"
#include "src/node/config/selector_reader.h"
#include "src/node/config/share_reader.h"
#include "src/node/config/tree_reader.h"
#include "src/node/config/usage_reader.h"
#include "src/node/config/values.h"
#include "src/node/config/words.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::config {
namespace {

constexpr std::array<std::string_view, 13> kRootKeys = {
    "apiVersion", "kind", "exclude", "serve", "pools",  "migStrategy", "plugin",
    "health",     "http", "metrics", "usage", "labels", "gate"};
constexpr std::array<std::string_view, 1> kServeKeys = {"by"};
constexpr std::array<std::string_view, 6> kPoolKeys = {"resource",        "devices", "mig",
                                                       "removeUnclaimed", "share",   "provider"};
constexpr std::array<std::string_view, 6> kPluginKeys = {"deviceListStrategy",  "deviceIds",
                                                         "sharedPolicy",        "registration",
                                                         "cdiAnnotationPrefix", "capabilities"};
constexpr std::array<std::string_view, 1> kHttpKeys = {"address"};

// Each is a socket and a watch of the kubelet's.
constexpr size_t kMaxPools = 256;

class Reader {
 public:
  explicit Reader(Problems& problems) : problems_(problems) {}

  NodeConfig Read(const Node& root) {
    root.ForEachField(kRootKeys, [this](std::string_view name, const Node& field) {
      ReadRootField(name, field);
    });
    Require(root, has_version_, "apiVersion", kApiVersion);
    Require(root, has_kind_, "kind", kNodeConfigKind);
    if (config_.pools.empty()) {
      config_.pools = DefaultNodeConfig().pools;
      is_provider_given_ = {false};
    }
    for (size_t i = 0; i < config_.pools.size(); ++i) {
      if (!is_provider_given_[i]) {
        config_.pools[i].provider = serves_;
      }
    }
    if (!places_.empty()) {
      CheckPools(config_.pools, places_, problems_);
    }
    return std::move(config_);
  }

 private:
  static void Require(const Node& root, bool is_there, std::string_view key,
                      std::string_view value) {
    if (!is_there && root.is_map()) {
      root.Error("{}: missing: set it to {}", key, value);
    }
  }

  void ReadRootField(std::string_view name, const Node& field) {
    if (name == "apiVersion") {
      has_version_ = true;
      ReadConstant(field, kApiVersion);
    } else if (name == "kind") {
      has_kind_ = true;
      ReadConstant(field, kNodeConfigKind);
    } else if (name == "exclude") {
      field.ForEachItem(
          [this](const Node& item) { config_.exclude.push_back(ReadSelector(item)); });
    } else if (name == "serve") {
      field.ForEachField(kServeKeys, [this](std::string_view, const Node& by) {
        Set(serves_, by.OneOf<Provider>(kServeWords));
      });
    } else if (name == "pools") {
      ReadPools(field);
    } else if (name == "migStrategy") {
      Set(config_.mig, field.OneOf<MigStrategy>(kMigStrategyWords));
    } else if (name == "plugin") {
      ReadPlugin(field);
    } else if (name == "health") {
      ReadHealth(field, problems_, config_.health);
    } else if (name == "metrics") {
      ReadMetrics(field, problems_, config_.metrics);
    } else if (name == "usage") {
      ReadUsage(field, config_.usage);
    } else if (name == "labels") {
      ReadLabels(field, problems_, config_.labels);
    } else if (name == "gate") {
      ReadGate(field, config_.gate);
    } else {
      field.ForEachField(kHttpKeys, [this](std::string_view, const Node& item) {
        Set(config_.http.address, item.CheckedString(&CheckHttpAddress));
      });
    }
  }

  static void ReadConstant(const Node& field, std::string_view wanted) {
    const auto text = field.String();
    if (text && *text != wanted) {
      field.Error("{} must be {}", field.Shown(), wanted);
    }
  }

  void ReadPools(const Node& field) {
    if (field.is_list() && field.size() == 0) {
      field.Error(
          "is empty: omit it for one pool with all devices; to serve no device, use exclude: "
          "[all]");
    }
    if (field.size() > kMaxPools) {
      field.Error("{} pools exceed the limit of {}", field.size(), kMaxPools);
      return;
    }
    field.ForEachItem([this](const Node& item) { ReadPool(item); });
  }

  void ReadPool(const Node& node) {
    Pool pool;
    bool is_provider_given = false;
    PoolPlaces places{.resource = node.position(),
                      .devices = node.position(),
                      .mig = node.position(),
                      .share = node.position()};
    node.ForEachField(kPoolKeys, [&](std::string_view name, const Node& field) {
      if (name == "resource") {
        places.resource = field.key_position();
        Set(pool.resource, field.CheckedString(&CheckResourceTemplate));
      } else if (name == "devices") {
        places.devices = field.key_position();
        pool.devices = ReadSelector(field);
      } else if (name == "mig") {
        places.mig = field.key_position();
        pool.mig = field.OneOf<MigStrategy>(kPoolMigWords);
      } else if (name == "removeUnclaimed") {
        Set(pool.removes_unclaimed, field.Bool());
      } else if (name == "provider") {
        is_provider_given = true;
        Set(pool.provider, field.OneOf<Provider>(kProviderWords));
      } else {
        places.share = field.key_position();
        pool.share = ReadShare(field);
      }
    });
    config_.pools.push_back(std::move(pool));
    places_.push_back(places);
    is_provider_given_.push_back(is_provider_given);
  }

  void ReadPlugin(const Node& node) {
    node.ForEachField(kPluginKeys, [this](std::string_view name, const Node& field) {
      PluginConfig& plugin = config_.plugin;
      if (name == "deviceListStrategy") {
        ReadStrategies(field, plugin.strategies);
      } else if (name == "deviceIds") {
        Set(plugin.device_ids, field.OneOf<DeviceIdStrategy>(kDeviceIdWords));
      } else if (name == "sharedPolicy") {
        Set(plugin.shared_policy, field.OneOf<SharedPolicy>(kSharedPolicyWords));
      } else if (name == "registration") {
        Set(plugin.registration, field.OneOf<Registration>(kRegistrationWords));
      } else if (name == "cdiAnnotationPrefix") {
        Set(plugin.cdi_annotation_prefix, field.CheckedString(&CheckAnnotationPrefix));
      } else {
        Set(plugin.capabilities, field.CheckedString(&CheckCapabilities));
      }
    });
  }

  static void ReadStrategies(const Node& node, std::vector<DeviceListStrategy>& out) {
    auto strategies = node.EachOneOf<DeviceListStrategy>(kStrategyWords);
    if (node.is_list() && node.size() == 0) {
      node.Error("is empty: name a strategy, or omit it for auto");
    }
    if (strategies.size() > 1 &&
        std::ranges::find(strategies, DeviceListStrategy::kAuto) != strategies.end()) {
      node.Error("auto selects the strategy itself: remove the others");
    }
    if (!strategies.empty()) {
      out = std::move(strategies);
    }
  }

  Problems& problems_;
  NodeConfig config_;
  std::vector<PoolPlaces> places_;  // of each pool
  std::vector<bool> is_provider_given_;
  Provider serves_ = Provider::kKubelet;  // pools that do not say
  bool has_version_ = false;
  bool has_kind_ = false;
};

// The most frequent mistakes, which yaml-cpp explains worst.
Status ExplainSyntax(const Status& status) {
  if (Message(status).find("block scalar") == std::string_view::npos) {
    return status;
  }
  return InvalidArgument("{}; quote a text that begins with >: \">= 40Gi\"", Message(status));
}

// Twenty unknown keys would not say it.
Status RefuseForeign(std::string_view text, std::string_view file) {
  const auto dialect = DetectDialect(text, file);
  if (!dialect.ok() || *dialect == Dialect::kNodeConfig) {
    return OkStatus();
  }
  return InvalidArgument(
      "{}: this is a configuration of {} device plugin: convert it with \"kgpu config convert {}\"",
      file, *dialect == Dialect::kGke ? "GKE's" : "NVIDIA's", file);
}

}  // namespace

NodeConfig ReadNodeConfig(const Node& root, Problems& problems) {
  return Reader(problems).Read(root);
}

std::string_view ResourceOf(const Pool& pool) {
  if (!pool.resource.empty()) {
    return pool.resource;
  }
  const bool is_cut = sharing::IsNamedBySize(pool.share);
  if (pool.provider == Provider::kLocal) {
    return is_cut ? kDefaultLocalSlices : kDefaultLocalPool;
  }
  return is_cut ? kDefaultSlices : kDefaultResource;
}

NodeConfig DefaultNodeConfig() {
  NodeConfig config;
  config.pools.emplace_back().resource = kDefaultResource;
  return config;
}

StatusOr<NodeConfig> ParseNodeConfig(std::string_view text, std::string_view file) {
  const doc::Format format = file.ends_with(".json") ? doc::Format::kJson : doc::Format::kYaml;
  if (Trim(text).empty()) {
    return DefaultNodeConfig();
  }
  const auto document =
      doc::ParseLocated(text, format, file, doc::Limits{.bytes = kMaxConfigBytes});
  if (!document.ok()) {
    return ExplainSyntax(document.status());
  }
  if (document->root.is_null()) {
    return DefaultNodeConfig();
  }
  RETURN_IF_ERROR(RefuseForeign(text, file));
  Problems problems(file);
  NodeConfig config = ReadNodeConfig(Node(*document, problems), problems);
  RETURN_IF_ERROR(problems.ToStatus());
  return config;
}

}  // namespace kgpu::config
