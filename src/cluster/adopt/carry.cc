#include "src/cluster/adopt/carry.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>
#include <utility>

#include "src/node/config/nvidia_config.h"
#include "src/node/telemetry/series.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::adopt {
namespace {

namespace json = boost::json;
using config::NodeConfig;
using config::Note;

constexpr std::string_view kDriverRootFlag = "nvidiaDriverRoot";

// Flags below flags.plugin of the plugin's configuration file.
bool IsPluginFlag(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kNames = {
      "passDeviceSpecs", "deviceListStrategy", "deviceIDStrategy", "cdiAnnotationPrefix",
      "sharedDevicesAllocationPolicy"};
  return std::ranges::find(kNames, name) != kNames.end();
}

json::value FlagValue(std::string_view name, std::string_view text) {
  if (name == "passDeviceSpecs" || name.ends_with("Enabled") || name == "failOnInitError") {
    return text == "true" || text == "1";
  }
  if (name == "deviceListStrategy" && text.find(',') != std::string_view::npos) {
    json::array list;
    for (const std::string_view word : Split(text, ',')) {
      list.emplace_back(doc::View(Trim(word)));
    }
    return list;
  }
  return json::value(doc::View(text));
}

json::object& ObjectAt(json::object& parent, std::string_view key) {
  json::value& child = parent[doc::View(key)];
  if (!child.is_object()) {
    child = json::object();
  }
  return child.get_object();
}

// The file with the flags of the command line in it, which win. The driver's root is kgpu's own
// flag, not part of a NodeConfig.
json::value WithFlags(json::value file, const PluginSettings& settings) {
  json::object& root = file.get_object();
  json::object& flags = ObjectAt(root, "flags");
  for (const auto& [name, text] : settings.flags) {
    json::object& parent = IsPluginFlag(name) ? ObjectAt(flags, "plugin") : flags;
    parent[name] = FlagValue(name, text);
  }
  flags.erase(doc::View(kDriverRootFlag));
  // NVIDIA's default. Where its runtime is the default one, a container whose image requests all
  // GPUs would see all of them if the plugin stopped to set the variable.
  json::object& plugin = ObjectAt(flags, "plugin");
  if (!plugin.contains("deviceListStrategy")) {
    plugin["deviceListStrategy"] = "envvar";
  }
  return file;
}

// Without the positions in a text that nobody has: flags were written into the file.
std::string WithoutPositions(std::string_view text, const std::string& where) {
  std::string plain(text);
  for (size_t at = plain.find(where); at != std::string::npos; at = plain.find(where, at)) {
    at += where.size();
    const size_t end = plain.find_first_not_of(":0123456789", at);
    if (end != std::string::npos && end > at + 1) {
      plain.replace(at, end - at, ":");
    }
  }
  return plain;
}

class Carrier {
 public:
  explicit Carrier(const Foreign& foreign) : foreign_(foreign) {}

  Carried Run() {
    if (foreign_.policy) {
      carried_.driver_root = foreign_.policy->driver_root;
      for (const std::string& lost : foreign_.policy->unsupported) {
        Lost(fmt::format("ClusterPolicy {}", foreign_.policy->name), lost);
      }
    }
    CarryPlugins();
    CarryExporters();
    return std::move(carried_);
  }

 private:
  void Lost(std::string_view where, std::string_view what) {
    carried_.notes.push_back(
        {config::Fate::kNotTranslated, fmt::format("{}: not kept: {}", where, what)});
  }
  void Kept(std::string_view where, std::string_view what) {
    carried_.notes.push_back({config::Fate::kTranslated, fmt::format("{}: kept: {}", where, what)});
  }

  void CarryPlugins() {
    if (foreign_.plugins.empty()) {
      return;
    }
    const PluginSettings settings = Completed(foreign_.plugins.front());
    for (const PluginSettings& other : foreign_.plugins) {
      const PluginSettings one = Completed(other);
      if (one.flags != settings.flags || one.config != settings.config ||
          one.default_config != settings.default_config) {
        carried_.refused[""] = fmt::format(
            "{} and {} have different settings: kgpu cannot tell which nodes need which; take over "
            "by hand with `kgpu config convert` and the node label kgpu.dev/config",
            settings.where, one.where);
        return;
      }
    }
    if (const auto root = settings.flags.find(std::string(kDriverRootFlag));
        root != settings.flags.end() && root->second != "/") {
      carried_.driver_root = root->second;
      Kept(settings.where, fmt::format("driver root {}", root->second));
    }
    CarryConfigs(settings);
  }

  // What the operator would have set, when its DaemonSet does not say it.
  PluginSettings Completed(PluginSettings settings) const {
    if (foreign_.policy && !foreign_.policy->mig_strategy.empty()) {
      settings.flags.emplace("migStrategy", foreign_.policy->mig_strategy);
    }
    if (foreign_.policy && settings.config && settings.default_config.empty() &&
        foreign_.policy->plugin_config == settings.config->name) {
      settings.default_config = foreign_.policy->default_config;
    }
    return settings;
  }

  void CarryConfigs(const PluginSettings& settings) {
    std::string default_key = settings.default_config;
    if (settings.config) {
      const auto map = foreign_.maps.find(*settings.config);
      if (map == foreign_.maps.end()) {
        carried_.refused[""] =
            fmt::format("ConfigMap {}/{} cannot be read: allow `get` on it, or create it",
                        settings.config->space, settings.config->name);
        return;
      }
      for (const auto& [key, text] : map->second) {
        const std::string where = fmt::format("ConfigMap {}/{}: data.{}", settings.config->space,
                                              settings.config->name, key);
        Convert(key, text, where, settings);
      }
      // As the plugin's config-manager falls back: to the only one there is.
      if (default_key.empty() && map->second.size() == 1) {
        default_key = map->second.begin()->first;
      }
      if (!default_key.empty() && UseDefault(default_key)) {
        return;
      }
    }
    Convert("", "", settings.where, settings);
  }

  bool UseDefault(const std::string& key) {
    if (const auto found = carried_.named.find(key); found != carried_.named.end()) {
      carried_.config = found->second;
      return true;
    }
    if (const auto found = carried_.refused.find(key); found != carried_.refused.end()) {
      carried_.refused[""] = found->second;
      return true;
    }
    return false;
  }

  // `key` "": what the plugin does without a file.
  void Convert(const std::string& key, std::string_view text, const std::string& where,
               const PluginSettings& settings) {
    auto file = text.empty() ? StatusOr<json::value>(json::object{{"version", "v1"}})
                             : doc::Parse(text, doc::Format::kYaml, where,
                                          {.bytes = config::kMaxConfigBytes});
    if (file.ok() && file->is_null()) {
      file = json::object{{"version", "v1"}};
    }
    if (file.ok() && !file->is_object()) {
      file = InvalidArgument("{}: must be a configuration of NVIDIA's device plugin", where);
    }
    if (!file.ok()) {
      carried_.refused[key] = Message(file.status());
      return;
    }
    const std::string complete =
        doc::Print(WithFlags(*std::move(file), settings), doc::Format::kYaml);
    auto converted = config::ConvertNvidiaConfig(complete, where);
    if (!converted.ok()) {
      carried_.refused[key] = WithoutPositions(Message(converted.status()), where);
      return;
    }
    for (const Note& note : converted->notes) {
      carried_.notes.push_back({note.fate, WithoutPositions(note.text, where)});
    }
    (key.empty() ? carried_.config : carried_.named[key]) = std::move(converted->config);
  }

  void CarryExporters() {
    if (foreign_.exporters.empty()) {
      return;
    }
    const ExporterSettings& settings = foreign_.exporters.front();
    if (foreign_.exporters.size() > 1) {
      Lost(foreign_.exporters[1].where,
           fmt::format("settings of a second exporter; those of {} are", settings.where));
    }
    config::MetricsConfig metrics;
    metrics.names = {config::NameSet::kKgpu, config::NameSet::kDcgm};
    metrics.listen.dcgm = settings.listen;
    Kept(settings.where, fmt::format("DCGM_FI_* on {}", settings.listen));
    if (settings.every) {
      metrics.every = *settings.every;
      Kept(settings.where, fmt::format("interval of {} ms", settings.every->count()));
    }
    if (settings.has_hostname) {
      metrics.dcgm_labels.push_back(config::DcgmLabel::kHostname);
    }
    if (settings.has_pod_uid) {
      metrics.dcgm_labels.push_back(config::DcgmLabel::kPodUid);
    }
    for (const std::string& lost : settings.unsupported) {
      Lost(settings.where, lost);
    }
    CarryFields(settings, metrics);
    CheckMetrics(settings.where, metrics);
    carried_.config.metrics = metrics;
    for (auto& [key, named] : carried_.named) {
      named.metrics = metrics;
    }
  }

  // Keeps the page as large as it was: dashboards and Prometheus were made for that.
  void CarryFields(const ExporterSettings& settings, config::MetricsConfig& metrics) {
    if (settings.fields_file) {
      Lost(settings.where, fmt::format("the list of fields {}, which is in no ConfigMap",
                                       Printable(*settings.fields_file, 100)));
    }
    if (!settings.fields) {
      return;
    }
    const std::string where =
        fmt::format("ConfigMap {}/{}", settings.fields->space, settings.fields->name);
    const auto map =
        foreign_.maps.find({.space = settings.fields->space, .name = settings.fields->name});
    const auto text = map == foreign_.maps.end()
                          ? std::map<std::string, std::string>::const_iterator{}
                          : map->second.find(settings.fields->key);
    if (map == foreign_.maps.end() || text == map->second.end()) {
      return Lost(where, fmt::format("the list of fields: no text {} in it", settings.fields->key));
    }
    const auto fields = ReadFieldList(text->second);
    if (!fields.ok()) {
      return Lost(where, Message(fields.status()));
    }
    std::set<std::string> missing = *fields;
    size_t kept = 0;
    for (const telemetry::SeriesGroup& group : telemetry::AllSeries()) {
      if (group.set != config::NameSet::kDcgm) {
        continue;
      }
      for (const telemetry::Series& series : group.series) {
        if (missing.erase(std::string(series.name)) > 0) {
          ++kept;
        } else if (series.name.starts_with("DCGM_FI_")) {
          metrics.exclude.emplace_back(series.name);
        }
      }
    }
    missing.erase("DCGM_FI_DRIVER_VERSION");  // a label of every series
    Kept(where, fmt::format("{} fields; other DCGM_FI_* series are left out", kept));
    if (!missing.empty()) {
      Lost(where, fmt::format("fields that kgpu does not have: {}",
                              Join({missing.begin(), missing.end()}, ", ")));
    }
  }

  // An exporter may have settings that a NodeConfig refuses: what cannot be printed and read again
  // is left at its default.
  void CheckMetrics(std::string_view where, config::MetricsConfig& metrics) {
    NodeConfig config = config::DefaultNodeConfig();
    config.metrics = metrics;
    const auto again = config::ParseNodeConfig(config::PrintNodeConfig(config), "metrics");
    if (again.ok()) {
      return;
    }
    Lost(where, Message(again.status()));
    metrics = {};
    metrics.names = {config::NameSet::kKgpu, config::NameSet::kDcgm};
  }

  const Foreign& foreign_;
  Carried carried_;
};

}  // namespace

std::vector<MapKey> MapsOf(const Foreign& foreign) {
  std::set<MapKey> maps;
  const auto add = [&maps](const std::optional<MapKey>& key) {
    if (key) {
      maps.insert({.space = key->space, .name = key->name});
    }
  };
  for (const PluginSettings& settings : foreign.plugins) {
    add(settings.config);
  }
  for (const ExporterSettings& settings : foreign.exporters) {
    add(settings.fields);
  }
  return {maps.begin(), maps.end()};
}

Carried Carry(const Foreign& foreign) {
  return Carrier(foreign).Run();
}

}  // namespace kgpu::adopt
