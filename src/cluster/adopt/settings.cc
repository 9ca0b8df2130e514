#include "src/cluster/adopt/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cctype>
#include <utility>

#include "src/kube/api/json.h"
#include "src/platform/base/strings.h"

namespace kgpu::adopt {
namespace {

namespace json = boost::json;

constexpr size_t kMaxFieldList = size_t{1} << 20;
constexpr size_t kMaxFields = 4'096;
constexpr std::string_view kDriverDir = "/run/nvidia/driver";

// A flag of the plugin and its name in the configuration file.
struct PluginFlag {
  std::string_view option;    // without "--"
  std::string_view variable;  // of the environment
  std::string_view name;
};

constexpr std::array<PluginFlag, 12> kPluginFlags = {{
    {"mig-strategy", "MIG_STRATEGY", "migStrategy"},
    {"fail-on-init-error", "FAIL_ON_INIT_ERROR", "failOnInitError"},
    {"nvidia-driver-root", "NVIDIA_DRIVER_ROOT", "nvidiaDriverRoot"},
    {"nvidia-dev-root", "NVIDIA_DEV_ROOT", "nvidiaDevRoot"},
    {"pass-device-specs", "PASS_DEVICE_SPECS", "passDeviceSpecs"},
    {"device-list-strategy", "DEVICE_LIST_STRATEGY", "deviceListStrategy"},
    {"device-id-strategy", "DEVICE_ID_STRATEGY", "deviceIDStrategy"},
    {"gdrcopy-enabled", "GDRCOPY_ENABLED", "gdrcopyEnabled"},
    {"gds-enabled", "GDS_ENABLED", "gdsEnabled"},
    {"mofed-enabled", "MOFED_ENABLED", "mofedEnabled"},
    {"cdi-annotation-prefix", "CDI_ANNOTATION_PREFIX", "cdiAnnotationPrefix"},
    {"shared-devices-allocation-policy", "SHARED_DEVICES_ALLOCATION_POLICY",
     "sharedDevicesAllocationPolicy"},
}};

const json::array* ListAt(const json::value& object, std::initializer_list<std::string_view> path) {
  const json::value* list = kube::FindField(object, path);
  return list == nullptr ? nullptr : list->if_array();
}

bool IsTrue(std::string_view text) {
  return text == "true" || text == "1" || text == "True" || text == "TRUE" || text == "t";
}

// What a DaemonSet's containers are started with: all of them, since sidecars share the settings.
class Started {
 public:
  explicit Started(const json::value& daemon_set) : daemon_set_(daemon_set) {
    for (const char* kind : {"initContainers", "containers"}) {
      if (const json::array* list = ListAt(daemon_set, {"spec", "template", "spec", kind})) {
        for (const json::value& container : *list) {
          ReadContainer(container);
        }
      }
    }
  }

  std::string_view Env(std::string_view name) const {
    const auto found = env_.find(name);
    return found == env_.end() ? std::string_view() : std::string_view(found->second);
  }
  // "--name=value", "--name value", "-n value"; "true" for a switch without a value.
  std::optional<std::string> Option(std::string_view name, std::string_view letter = "") const {
    for (size_t i = 0; i < args_.size(); ++i) {
      std::string_view word = args_[i];
      const bool is_long = word.starts_with("--");
      if (!word.starts_with("-")) {
        continue;
      }
      word.remove_prefix(is_long ? 2 : 1);
      const size_t equals = word.find('=');
      const std::string_view key = word.substr(0, equals);
      if (key != (is_long ? name : letter) || key.empty()) {
        continue;
      }
      if (equals != std::string_view::npos) {
        return std::string(word.substr(equals + 1));
      }
      const bool has_value = i + 1 < args_.size() && !args_[i + 1].starts_with("-");
      return has_value ? args_[i + 1] : "true";
    }
    return std::nullopt;
  }
  std::string Value(std::string_view option, std::string_view letter,
                    std::string_view variable) const {
    return Option(option, letter).value_or(std::string(Env(variable)));
  }

  // The ConfigMap whose volume is mounted where `path` lies, with the key that it has there.
  std::optional<MapKey> MapAt(std::string_view path) const {
    for (const auto& [mount, volume] : mounts_) {
      const std::string_view folder = mount.path;
      const bool is_below = path.size() > folder.size() && path.starts_with(folder) &&
                            (folder.ends_with('/') || path[folder.size()] == '/');
      if (path != folder && !is_below) {
        continue;
      }
      std::optional<MapKey> map = MapOfVolume(volume);
      if (map) {
        map->key = !mount.sub_path.empty() ? mount.sub_path
                   : is_below              ? std::string(path.substr(path.rfind('/') + 1))
                                           : "";
        return map;
      }
    }
    return std::nullopt;
  }

 private:
  struct Mount {
    std::string path;
    std::string sub_path;
  };

  void ReadContainer(const json::value& container) {
    if (const json::array* list = ListAt(container, {"env"})) {
      for (const json::value& variable : *list) {
        env_.insert_or_assign(std::string(kube::TextField(variable, {"name"})),
                              std::string(kube::TextField(variable, {"value"})));
      }
    }
    for (const char* key : {"command", "args"}) {
      if (const json::array* list = ListAt(container, {key})) {
        for (const json::value& word : *list) {
          if (word.is_string()) {
            args_.emplace_back(std::string_view(word.get_string()));
          }
        }
      }
    }
    if (const json::array* list = ListAt(container, {"volumeMounts"})) {
      for (const json::value& mount : *list) {
        mounts_.emplace_back(Mount{std::string(kube::TextField(mount, {"mountPath"})),
                                   std::string(kube::TextField(mount, {"subPath"}))},
                             std::string(kube::TextField(mount, {"name"})));
      }
    }
  }

  std::optional<MapKey> MapOfVolume(std::string_view name) const {
    const json::array* list = ListAt(daemon_set_, {"spec", "template", "spec", "volumes"});
    if (list == nullptr) {
      return std::nullopt;
    }
    for (const json::value& volume : *list) {
      const std::string_view map = kube::TextField(volume, {"configMap", "name"});
      if (kube::TextField(volume, {"name"}) == name && !map.empty()) {
        return MapKey{.space = std::string(kube::NamespaceOf(daemon_set_)),
                      .name = std::string(map)};
      }
    }
    return std::nullopt;
  }

  const json::value& daemon_set_;
  std::map<std::string, std::string, std::less<>> env_;
  std::vector<std::string> args_;
  std::vector<std::pair<Mount, std::string>> mounts_;
};

std::string WhereOf(const json::value& object) {
  return fmt::format("{}/{}", kube::NamespaceOf(object), kube::NameOf(object));
}

// "4.5.3-4.8.2-ubuntu22.04": DCGM's version, then the exporter's own.
bool IsAfter482(std::string_view tag) {
  const std::vector<std::string_view> parts = Split(tag, '-');
  if (parts.size() < 2) {
    return false;
  }
  std::vector<uint64_t> numbers;
  for (const std::string_view word : Split(parts[1], '.')) {
    const auto number = ParseUint(word);
    if (!number) {
      return false;
    }
    numbers.push_back(*number);
  }
  return numbers > std::vector<uint64_t>{4, 8, 2};
}

// "kube-system:exporter-metrics".
std::optional<MapKey> MapOfName(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) {
    return std::nullopt;
  }
  return MapKey{.space = std::string(text.substr(0, colon)),
                .name = std::string(text.substr(colon + 1)),
                .key = "metrics"};
}

void ReadFields(const Started& started, ExporterSettings& settings) {
  const std::string map = started.Value("configmap-data", "m", "DCGM_EXPORTER_CONFIGMAP_DATA");
  if (const auto named = MapOfName(map)) {
    settings.fields = named;
    return;
  }
  const std::string file = started.Value("collectors", "f", "DCGM_EXPORTER_COLLECTORS");
  if (file.empty()) {
    return;
  }
  settings.fields = started.MapAt(file);
  // The two lists in the image: kgpu has their series by default.
  const bool is_of_image = file.starts_with("/etc/dcgm-exporter/d");
  if (!settings.fields && !is_of_image) {
    settings.fields_file = file;
  }
}

bool FlagAt(const json::value& object, std::initializer_list<std::string_view> path,
            bool otherwise) {
  const json::value* flag = kube::FindField(object, path);
  return flag != nullptr && flag->is_bool() ? flag->get_bool() : otherwise;
}

}  // namespace

PluginSettings ReadPluginSettings(const json::value& daemon_set) {
  const Started started(daemon_set);
  PluginSettings settings;
  settings.where = WhereOf(daemon_set);
  for (const PluginFlag& flag : kPluginFlags) {
    const std::string value = started.Value(flag.option, "", flag.variable);
    if (!value.empty()) {
      settings.flags.emplace(flag.name, value);
    }
  }
  // The folder of all configurations, which a sidecar chooses from; else the plugin's own file.
  const std::string folder(started.Env("CONFIG_FILE_SRCDIR"));
  settings.config = started.MapAt(folder.empty() ? "/available-configs" : folder);
  if (!settings.config) {
    const std::string file = started.Value("config-file", "", "CONFIG_FILE");
    settings.config = file.empty() ? std::nullopt : started.MapAt(file);
    settings.default_config = settings.config ? settings.config->key : "";
  } else {
    settings.default_config = std::string(started.Env("DEFAULT_CONFIG"));
  }
  if (settings.config) {
    settings.config->key.clear();
  }
  return settings;
}

ExporterSettings ReadExporterSettings(const json::value& daemon_set, std::string_view version) {
  const Started started(daemon_set);
  ExporterSettings settings;
  settings.where = WhereOf(daemon_set);
  if (const std::string listen = started.Value("address", "a", "DCGM_EXPORTER_LISTEN");
      !listen.empty()) {
    settings.listen = listen;
  }
  const std::string every = started.Value("collect-interval", "c", "DCGM_EXPORTER_INTERVAL");
  constexpr uint64_t kDay = 86'400'000;
  if (const auto milliseconds = ParseUint(every);
      milliseconds && *milliseconds > 0 && *milliseconds <= kDay) {
    settings.every = std::chrono::milliseconds(*milliseconds);
  }
  ReadFields(started, settings);
  settings.has_hostname = IsAfter482(version);
  settings.has_pod_uid = IsTrue(
      started.Value("kubernetes-enable-pod-uid", "", "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID"));
  const auto unsupported = [&](std::string_view option, std::string_view letter,
                               std::string_view variable, std::string_view text) {
    if (const std::string value = started.Value(option, letter, variable);
        !value.empty() && value != "false" && value != "0") {
      settings.unsupported.emplace_back(text);
    }
  };
  unsupported("kubernetes-enable-pod-labels", "", "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS",
              "labels of pods on series");
  unsupported("use-old-namespace", "o", "DCGM_EXPORTER_USE_OLD_NAMESPACE",
              "labels pod_name, pod_namespace, container_name");
  unsupported("web-config-file", "", "DCGM_EXPORTER_WEB_CONFIG_FILE",
              "TLS and passwords of its web configuration: set metrics.tls and metrics.auth");
  unsupported("hpc-job-mapping-dir", "", "DCGM_HPC_JOB_MAPPING_DIR", "HPC job ids on series");
  return settings;
}

StatusOr<std::set<std::string>> ReadFieldList(std::string_view text) {
  if (text.size() > kMaxFieldList) {
    return InvalidArgument("a list of fields: {} bytes are over the limit of {}", text.size(),
                           kMaxFieldList);
  }
  std::set<std::string> fields;
  for (const std::string_view line : Split(text, '\n')) {
    const std::string_view name = Trim(line.substr(0, line.find(',')));
    const bool is_name = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_';
    });
    // Comments and what the exporter would refuse.
    if (!is_name) {
      continue;
    }
    fields.emplace(name);
    if (fields.size() > kMaxFields) {
      return InvalidArgument("a list of fields: more than {} fields", kMaxFields);
    }
  }
  return fields;
}

PolicySettings ReadPolicy(const json::value& policy) {
  PolicySettings settings;
  settings.name = std::string(kube::NameOf(policy));
  settings.mig_strategy = std::string(kube::TextField(policy, {"spec", "mig", "strategy"}));
  settings.has_driver = FlagAt(policy, {"spec", "driver", "enabled"}, true);
  const std::string_view root = kube::TextField(policy, {"spec", "hostPaths", "driverInstallDir"});
  if (settings.has_driver) {
    settings.driver_root = std::string(root.empty() ? kDriverDir : root);
  }
  settings.has_sandbox = FlagAt(policy, {"spec", "sandboxWorkloads", "enabled"}, false);
  const std::string_view map = kube::TextField(policy, {"spec", "devicePlugin", "config", "name"});
  if (!map.empty()) {
    settings.plugin_config = std::string(map);
    settings.default_config =
        std::string(kube::TextField(policy, {"spec", "devicePlugin", "config", "default"}));
  }
  struct Extra {
    std::string_view key;
    std::string_view text;
  };
  constexpr std::array<Extra, 3> kExtras = {{
      {"gds", "GPUDirect Storage (gds.enabled)"},
      {"gdrcopy", "GDRCopy (gdrcopy.enabled)"},
      {"ccManager", "confidential computing (ccManager.enabled)"},
  }};
  for (const Extra& extra : kExtras) {
    if (FlagAt(policy, {"spec", extra.key, "enabled"}, false)) {
      settings.unsupported.emplace_back(extra.text);
    }
  }
  return settings;
}

}  // namespace kgpu::adopt
