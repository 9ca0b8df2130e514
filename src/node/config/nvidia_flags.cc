#include "src/node/config/nvidia_flags.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "src/node/config/values.h"
#include "src/node/config/words.h"

namespace kgpu::config {
namespace {

constexpr std::array<std::string_view, 12> kFlagKeys = {
    "migStrategy",       "failOnInitError",         "mpsRoot",    "nvidiaDriverRoot",
    "nvidiaDevRoot",     "gdrcopyEnabled",          "gdsEnabled", "mofedEnabled",
    "useNodeFeatureAPI", "deviceDiscoveryStrategy", "plugin",     "gfd"};
constexpr std::array<std::string_view, 7> kNvidiaPluginKeys = {"passDeviceSpecs",
                                                               "deviceListStrategy",
                                                               "deviceIDStrategy",
                                                               "cdiAnnotationPrefix",
                                                               "nvidiaCTKPath",
                                                               "containerDriverRoot",
                                                               "sharedDevicesAllocationPolicy"};

// Those of ours that NVIDIA's plugin has too.
constexpr std::array kStrategies = {
    Word<DeviceListStrategy>{"envvar", DeviceListStrategy::kEnvvar},
    Word<DeviceListStrategy>{"volume-mounts", DeviceListStrategy::kVolumeMounts},
    Word<DeviceListStrategy>{"cdi-annotations", DeviceListStrategy::kCdiAnnotations},
    Word<DeviceListStrategy>{"cdi-cri", DeviceListStrategy::kCdiCri},
};

bool IsCdi(DeviceListStrategy strategy) {
  return strategy == DeviceListStrategy::kCdiCri || strategy == DeviceListStrategy::kCdiAnnotations;
}

class FlagReader {
 public:
  explicit FlagReader(ForeignNotes& notes) : notes_(notes) {}

  NvidiaFlags Read(const Node& node) {
    node.ForEachFieldLoosely(
        kFlagKeys, [this](std::string_view name, const Node& flag) { ReadFlag(name, flag); },
        notes_.ForUnknown());
    AddDeviceSpecs();
    return std::move(flags_);
  }

 private:
  void ReadFlag(std::string_view name, const Node& flag) {
    if (name == "plugin") {
      flag.ForEachFieldLoosely(
          kNvidiaPluginKeys,
          [this](std::string_view key, const Node& field) { ReadPluginFlag(key, field); },
          notes_.ForUnknown());
    } else if (name == "migStrategy") {
      if (const auto strategy = flag.OneOf<MigStrategy>(kMigStrategyWords)) {
        flags_.mig = *strategy;
        notes_.Add(Fate::kTranslated, flag, "migStrategy");
      }
    } else if (name == "nvidiaDriverRoot") {
      ReadPath(flag, "/", "--driver-root");
    } else if (name == "nvidiaDevRoot") {
      ReadPath(flag, "/", "--host-root");
    } else if (name == "deviceDiscoveryStrategy") {
      ReadDiscovery(flag);
    } else if (name.ends_with("Enabled")) {
      ReadExtra(flag);
    } else if (name == "failOnInitError") {
      notes_.Add(Fate::kNoMeaning, flag, "kgpu always queries a driver again that does not answer");
    } else if (name == "mpsRoot") {
      notes_.Add(Fate::kNoMeaning, flag, "kgpu keeps the files of MPS in its own folders");
    } else {
      notes_.Add(Fate::kNoMeaning, flag, "concerns labels, not device allocation");
    }
  }

  void ReadPluginFlag(std::string_view name, const Node& field) {
    PluginConfig& plugin = flags_.plugin;
    if (name == "passDeviceSpecs") {
      passes_device_specs_ = field.Bool().value_or(false);
      notes_.Add(Fate::kTranslated, field, "plugin.deviceListStrategy{}",
                 passes_device_specs_ ? ": device-specs unless it is CDI or auto" : "");
    } else if (name == "deviceListStrategy") {
      ReadStrategies(field);
    } else if (name == "deviceIDStrategy") {
      plugin.device_ids = field.OneOf<DeviceIdStrategy>(kDeviceIdWords).value_or(plugin.device_ids);
      notes_.Add(Fate::kTranslated, field, "plugin.deviceIds");
    } else if (name == "cdiAnnotationPrefix") {
      ReadAnnotationPrefix(field);
    } else if (name == "sharedDevicesAllocationPolicy") {
      plugin.shared_policy =
          field.OneOf<SharedPolicy>(kSharedPolicyWords).value_or(plugin.shared_policy);
      notes_.Add(Fate::kTranslated, field, "plugin.sharedPolicy");
    } else if (name == "containerDriverRoot") {
      ReadPath(field, "/driver-root", "--driver-root");
    } else {
      notes_.Add(Fate::kNoMeaning, field, "containers get no hooks");
    }
  }

  // Paths are options of the program, not part of the node's configuration.
  void ReadPath(const Node& field, std::string_view usual, std::string_view flag) {
    const auto path = field.String();
    if (!path) {
      return;
    }
    if (path->empty() || *path == usual) {
      notes_.Add(Fate::kNoMeaning, field, "is the default path");
    } else {
      notes_.Add(Fate::kNotTranslated, field, "the driver's location is a flag: {} DIR", flag);
    }
  }

  void ReadDiscovery(const Node& flag) {
    const auto strategy = flag.String();
    if (strategy == "tegra") {
      flag.Error("\"tegra\": Jetson and other Tegra devices are not supported");
    } else if (strategy) {
      notes_.Add(Fate::kNoMeaning, flag, "devices are always found through NVML, PCI and /proc");
    }
  }

  void ReadExtra(const Node& flag) {
    const auto is_on = flag.Bool();
    if (is_on == true) {
      notes_.Add(Fate::kNotTranslated, flag, "containers do not get its devices");
    } else if (is_on) {
      notes_.Add(Fate::kNoMeaning, flag, "is disabled");
    }
  }

  void ReadStrategies(const Node& field) {
    std::vector<DeviceListStrategy> strategies;
    field.ForOneOrMany([&strategies](const Node& item) {
      const auto strategy = item.OneOf<DeviceListStrategy>(kStrategies);
      if (strategy && std::ranges::find(strategies, *strategy) == strategies.end()) {
        strategies.push_back(*strategy);
      }
    });
    if (!strategies.empty()) {
      flags_.plugin.strategies = std::move(strategies);
      notes_.Add(Fate::kTranslated, field, "plugin.deviceListStrategy");
    }
  }

  void ReadAnnotationPrefix(const Node& field) {
    if (auto prefix = field.CheckedString(&CheckAnnotationPrefix)) {
      flags_.plugin.cdi_annotation_prefix = *std::move(prefix);
      notes_.Add(Fate::kTranslated, field, "plugin.cdiAnnotationPrefix");
    }
  }

  // Like NVIDIA's plugin: CDI adds the device nodes by itself.
  void AddDeviceSpecs() {
    auto& strategies = flags_.plugin.strategies;
    if (passes_device_specs_ && strategies.front() != DeviceListStrategy::kAuto &&
        !std::ranges::all_of(strategies, &IsCdi)) {
      strategies.push_back(DeviceListStrategy::kDeviceSpecs);
    }
  }

  ForeignNotes& notes_;
  NvidiaFlags flags_;
  bool passes_device_specs_ = false;
};

}  // namespace

NvidiaFlags ReadNvidiaFlags(const Node& node, ForeignNotes& notes) {
  return FlagReader(notes).Read(node);
}

}  // namespace kgpu::config
