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
#include "src/node/config/resource_name.h"
#include "src/node/config/selector_reader.h"
#include "src/node/config/tree_reader.h"
#include "src/node/config/usage_reader.h"
#include "src/node/config/values.h"
#include "src/node/config/words.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::config {
namespace {

constexpr std::array<std::string_view, 12> kRootKeys = {"apiVersion",  "kind",   "exclude", "pools",
                                                        "migStrategy", "plugin", "health",  "http",
                                                        "metrics",     "usage",  "labels",  "gate"};
constexpr std::array<std::string_view, 4> kPoolKeys = {"resource", "devices", "mig", "share"};
constexpr std::array<std::string_view, 3> kShareKeys = {"by", "replicas", "multiple"};
constexpr std::array<std::string_view, 6> kPluginKeys = {"deviceListStrategy",  "deviceIds",
                                                         "sharedPolicy",        "registration",
                                                         "cdiAnnotationPrefix", "capabilities"};
constexpr std::array<std::string_view, 1> kHttpKeys = {"address"};

// Each is a socket and a watch of the kubelet's.
constexpr size_t kMaxPools = 256;

template <typename T>
void Set(T& field, std::optional<T> value) {
  if (value) {
    field = *std::move(value);
  }
}

// A text that `check` has nothing against.
void SetChecked(std::string& field, const Node& node, Status (*check)(std::string_view)) {
  if (auto text = node.String()) {
    if (const Status status = check(*text); !status.ok()) {
      node.Error("{}", Message(status));
    } else {
      field = *std::move(text);
    }
  }
}

class Reader {
 public:
  explicit Reader(Problems& problems) : problems_(problems) {}

  NodeConfig Read(const Node& root) {
    root.ForEachField(kRootKeys, [this](std::string_view name, const Node& field) {
      ReadRootField(name, field);
    });
    Require(root, has_version_, "apiVersion", kApiVersion);
    Require(root, has_kind_, "kind", kNodeConfigKind);
    CheckShares();
    if (config_.pools.empty()) {
      config_.pools = DefaultNodeConfig().pools;
    }
    return std::move(config_);
  }

 private:
  static void Require(const Node& root, bool is_there, std::string_view key,
                      std::string_view value) {
    if (!is_there && root.is_map()) {
      root.Error("{}: missing: {}: {} is wanted", key, key, value);
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
        SetChecked(config_.http.address, item, &CheckHttpAddress);
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
          "is empty: leave it out for one pool of everything; exclude: [all] is how no "
          "device is handed out");
    }
    if (field.size() > kMaxPools) {
      field.Error("{} pools are more than the {} allowed", field.size(), kMaxPools);
      return;
    }
    field.ForEachItem([this](const Node& item) { ReadPool(item); });
  }

  void ReadPool(const Node& node) {
    Pool pool;
    doc::Position share_position = node.position();
    node.ForEachField(kPoolKeys, [&](std::string_view name, const Node& field) {
      if (name == "resource") {
        SetChecked(pool.resource, field, &CheckResourceTemplate);
      } else if (name == "devices") {
        pool.devices = ReadSelector(field);
      } else if (name == "mig") {
        pool.mig = field.OneOf<MigStrategy>(kMigStrategyWords);
      } else {
        share_position = field.key_position();
        pool.share = ReadShare(field);
      }
    });
    config_.pools.push_back(std::move(pool));
    share_positions_.push_back(share_position);
  }

  static Share ReadShare(const Node& node) {
    Share share;
    bool has_by = false;
    bool has_replicas = false;
    node.ForEachField(kShareKeys, [&](std::string_view name, const Node& field) {
      if (name == "by") {
        has_by = true;
        ReadShareBy(field);
      } else if (name == "replicas") {
        has_replicas = true;
        share.replicas = static_cast<unsigned>(field.Number(2, kMaxReplicas).value_or(2));
      } else {
        Set(share.multiple, field.OneOf<MultipleSlots>(kMultipleWords));
      }
    });
    if (node.is_map() && !has_by) {
      node.Error("by: missing: by: time is wanted");
    }
    if (node.is_map() && !has_replicas) {
      node.Error("replicas: missing: into how many slots is each device shared?");
    }
    share.by = ShareBy::kTime;
    return share;
  }

  static void ReadShareBy(const Node& field) {
    const auto word = field.String();
    if (!word || *word == "time") {
      return;
    }
    for (const std::string_view later : {"mps", "memory", "mig"}) {
      if (*word == later) {
        field.Error("{} is not supported by this version: time is", field.Shown());
        return;
      }
    }
    field.Error("{} must be time", field.Shown());
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
        SetChecked(plugin.cdi_annotation_prefix, field, &CheckAnnotationPrefix);
      } else {
        SetChecked(plugin.capabilities, field, &CheckCapabilities);
      }
    });
  }

  static void ReadStrategies(const Node& node, std::vector<DeviceListStrategy>& out) {
    std::vector<DeviceListStrategy> strategies;
    node.ForOneOrMany([&strategies](const Node& item) {
      const auto strategy = item.OneOf<DeviceListStrategy>(kStrategyWords);
      if (!strategy) {
        return;
      }
      if (std::ranges::find(strategies, *strategy) != strategies.end()) {
        item.Error("{} is given twice: keep one", item.Shown());
      }
      strategies.push_back(*strategy);
    });
    if (node.is_list() && node.size() == 0) {
      node.Error("is empty: name one, or leave it out for auto");
    }
    if (strategies.size() > 1 &&
        std::ranges::find(strategies, DeviceListStrategy::kAuto) != strategies.end()) {
      node.Error("auto decides by itself: name no other beside it");
    }
    if (!strategies.empty()) {
      out = std::move(strategies);
    }
  }

  // A resource is one thing to the kubelet: its slots are all shared in one way.
  void CheckShares() {
    for (size_t i = 0; i < config_.pools.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const Pool& pool = config_.pools[i];
        const Pool& earlier = config_.pools[j];
        if (!FeedSameResource(pool, earlier) || pool.share == earlier.share) {
          continue;
        }
        problems_.Add(share_positions_[i],
                      fmt::format("pools[{}].share: pools[{}] feeds {} too, with other settings: "
                                  "make them equal, or name another resource",
                                  i, j, pool.resource.empty() ? kDefaultResource : pool.resource));
        break;
      }
    }
  }

  static bool FeedSameResource(const Pool& a, const Pool& b) {
    const auto name = [](const Pool& pool) -> std::string_view {
      // MIG devices without a given name have one by their profile, known only with the device.
      if (pool.resource.empty() && !pool.devices.mig_profiles.empty()) {
        return "";
      }
      return pool.resource.empty() ? kDefaultResource : std::string_view(pool.resource);
    };
    return !name(a).empty() && name(a) == name(b);
  }

  Problems& problems_;
  NodeConfig config_;
  std::vector<doc::Position> share_positions_;  // of each pool
  bool has_version_ = false;
  bool has_kind_ = false;
};

// What people write most often and yaml-cpp explains least.
Status ExplainSyntax(const Status& status) {
  if (Message(status).find("block scalar") == std::string_view::npos) {
    return status;
  }
  return InvalidArgument("{}; a text that begins with > stands in quotes: \">= 40Gi\"",
                         Message(status));
}

// Twenty unknown keys would not say it.
Status RefuseForeign(std::string_view text, std::string_view file) {
  const auto dialect = DetectDialect(text, file);
  if (!dialect.ok() || *dialect == Dialect::kNodeConfig) {
    return OkStatus();
  }
  return InvalidArgument(
      "{}: this is a configuration of {} device plugin: \"kgpu config convert {}\" makes a "
      "NodeConfig of it",
      file, *dialect == Dialect::kGke ? "GKE's" : "NVIDIA's", file);
}

}  // namespace

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
  NodeConfig config = Reader(problems).Read(Node(*document, problems));
  RETURN_IF_ERROR(problems.ToStatus());
  return config;
}

}  // namespace kgpu::config
