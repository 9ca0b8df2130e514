#include "src/node/labels/nfd_config.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "src/host/features/sources.h"
#include "src/node/config/foreign_reader.h"
#include "src/node/config/tree_reader.h"
#include "src/node/labels/rule_reader.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/located.h"

namespace kgpu::labels {
namespace {

using config::Fate;
using config::ForeignNotes;
using config::Node;
using config::Problems;
using Names = std::span<const std::string_view>;
using Texts = std::vector<std::string>;

constexpr std::array<std::string_view, 2> kWorkerKeys = {"core", "sources"};
constexpr std::array<std::string_view, 10> kCoreKeys = {
    "klog",           "labelWhiteList", "noPublish",    "noOwnerRefs",       "ownerRefs",
    "featureSources", "sources",        "labelSources", "noPublishFeatures", "sleepInterval"};
constexpr std::array<std::string_view, 10> kSourcesKeys = {
    "cpu", "custom", "kernel", "local", "memory", "network", "pci", "storage", "system", "usb"};
constexpr std::array<std::string_view, 1> kCpuKeys = {"cpuid"};
constexpr std::array<std::string_view, 2> kCpuidKeys = {"attributeBlacklist", "attributeWhitelist"};
constexpr std::array<std::string_view, 2> kKernelKeys = {"kconfigFile", "configOpts"};
constexpr std::array<std::string_view, 2> kDeviceKeys = {"deviceClassWhitelist",
                                                         "deviceLabelFields"};
constexpr std::array<std::string_view, 11> kMasterKeys = {
    "noPublish",      "extraLabelNs", "denyLabelNs",     "enableTaints",
    "labelWhiteList", "resyncPeriod", "leaderElection",  "nfdApiParallelism",
    "klog",           "restrictions", "informerPageSize"};
constexpr std::array<std::string_view, 7> kRestrictionKeys = {
    "disableLabels",         "disableTaints",  "disableExtendedResources",    "disableAnnotations",
    "denyNodeFeatureLabels", "allowOverwrite", "nodeFeatureNamespaceSelector"};
constexpr std::array<std::string_view, 5> kPciFields = {"class", "vendor", "device",
                                                        "subsystem_vendor", "subsystem_device"};
constexpr std::array<std::string_view, 4> kUsbFields = {"class", "vendor", "device", "serial"};

class Reader {
 public:
  Reader(LabelsSettings base, ForeignNotes& notes, std::string_view file)
      : settings_(std::move(base)), notes_(notes), file_(file), rule_problems_(file) {}

  // Rules that were left out.
  const Problems& rule_problems() const { return rule_problems_; }

  LabelsSettings ReadWorker(const Node& root) {
    ForEach(root, kWorkerKeys, [this](std::string_view name, const Node& field) {
      if (name == "core") {
        ForEach(field, kCoreKeys,
                [this](std::string_view key, const Node& item) { ReadCore(key, item); });
      } else {
        ForEach(field, kSourcesKeys,
                [this](std::string_view source, const Node& item) { ReadSource(source, item); });
      }
    });
    // The old name wins, as in NFD.
    if (label_sources_) {
      settings_.features.label_sources = *label_sources_;
    }
    const auto labels = [this](std::string_view source) {
      return features::IsSourceWanted(settings_.features.label_sources, source);
    };
    settings_.reads_feature_files =
        features::IsSourceWanted(settings_.features.feature_sources, "local");
    settings_.labels_feature_files = settings_.reads_feature_files && labels("local");
    settings_.runs_file_rules = labels("custom");
    return std::move(settings_);
  }

  LabelsSettings ReadMaster(const Node& root) {
    ForEach(root, kMasterKeys, [this](std::string_view name, const Node& field) {
      if (name == "restrictions") {
        ForEach(field, kRestrictionKeys,
                [this](std::string_view key, const Node& item) { ReadRestriction(key, item); });
      } else {
        ReadMasterField(name, field);
      }
    });
    return std::move(settings_);
  }

 private:
  void ForEach(const Node& node, Names known, const Node::ReadField& read) {
    node.ForEachFieldLoosely(known, read, notes_.ForUnknown());
  }

  void ReadCore(std::string_view name, const Node& field) {
    features::FeatureOptions& options = settings_.features;
    if (name == "labelWhiteList") {
      ReadPattern(field, settings_.own_allow);
    } else if (name == "noPublish") {
      settings_.publishes = !Flag(field, false) && settings_.publishes;
    } else if (name == "featureSources") {
      options.feature_sources = List(field);
    } else if (name == "labelSources") {
      options.label_sources = List(field);
    } else if (name == "sources") {
      label_sources_ = List(field);
    } else if (name == "noPublishFeatures") {
      settings_.unpublished = List(field);
    } else if (name == "ownerRefs" || name == "noOwnerRefs") {
      notes_.Add(Fate::kNotTranslated, field, "kgpu's NodeFeature object belongs to its node");
    } else if (name == "sleepInterval") {
      notes_.Add(Fate::kNoMeaning, field, "kgpu writes on changes, not periodically");
    } else {
      notes_.Add(Fate::kNoMeaning, field, "kgpu has its own log flags");
    }
  }

  void ReadSource(std::string_view source, const Node& field) {
    features::FeatureOptions& options = settings_.features;
    if (source == "cpu") {
      ForEach(field, kCpuKeys, [&](std::string_view, const Node& cpuid) {
        ForEach(cpuid, kCpuidKeys, [&](std::string_view name, const Node& list) {
          (name == "attributeBlacklist" ? options.cpuid_denied : options.cpuid_allowed) =
              List(list);
        });
      });
    } else if (source == "kernel") {
      ForEach(field, kKernelKeys, [&](std::string_view name, const Node& item) {
        if (name == "configOpts") {
          options.kernel_config_options = List(item);
        } else if (const auto path = item.String()) {
          options.kernel_config_file = *path;
          notes_.Add(Fate::kTranslated, item, "read below the host's root, not the container's");
        }
      });
    } else if (source == "pci") {
      ReadDevices(field, options.pci_classes, options.pci_label_fields, kPciFields);
    } else if (source == "usb") {
      ReadDevices(field, options.usb_classes, options.usb_label_fields, kUsbFields);
    } else if (source == "custom") {
      ReadRules(field);
    } else {
      ForEach(field, {}, [](std::string_view, const Node&) {});
    }
  }

  void ReadRules(const Node& list) {
    RuleSet set{.name = fmt::format("{}: sources.custom", file_), .rules = {}};
    RuleReader reader;
    list.With(rule_problems_).ForEachItem([&](const Node& item) {
      const size_t before = rule_problems_.count();
      if (set.rules.size() == kMaxRules) {
        item.Error("more than {} rules: split the file", kMaxRules);
      } else if (Rule rule = reader.Read(item); rule_problems_.count() == before) {
        set.rules.push_back(std::move(rule));
      }
    });
    notes_.Add(Fate::kTranslated, list, "{} rule{}", set.rules.size(),
               set.rules.size() == 1 ? "" : "s");
    settings_.rules.push_back(std::move(set));
  }

  void ReadDevices(const Node& node, Texts& classes, Texts& fields, Names known) {
    ForEach(node, kDeviceKeys, [&](std::string_view name, const Node& list) {
      if (name == "deviceLabelFields") {
        fields = List(list, [&](const Node& item, const std::string& text) {
          if (std::ranges::find(known, text) == known.end()) {
            item.Error("\"{}\" must be one of {}", Printable(text, 40), fmt::join(known, ", "));
          }
        });
        return;
      }
      classes = List(list, [](const Node& item, const std::string& text) {
        if (text.empty() || text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
          item.Error("\"{}\" must be a class or class prefix in hexadecimal, such as 03 or 0302",
                     Printable(text, 40));
        }
      });
      std::ranges::transform(classes, classes.begin(),
                             [](const std::string& text) { return ToLower(text); });
    });
  }

  void ReadMasterField(std::string_view name, const Node& field) {
    Filters& filters = settings_.filters;
    if (name == "noPublish") {
      settings_.publishes = !Flag(field, false) && settings_.publishes;
    } else if (name == "extraLabelNs") {
      filters.extra_namespaces = List(field);
    } else if (name == "denyLabelNs") {
      filters.denied_namespaces = List(field);
    } else if (name == "enableTaints") {
      taints_ = Flag(field, taints_);
      filters.taints = taints_ && !no_taints_;
    } else if (name == "labelWhiteList") {
      ReadPattern(field, filters.label_allow);
    } else if (name == "klog") {
      notes_.Add(Fate::kNoMeaning, field, "kgpu has its own log flags");
    } else {
      notes_.Add(Fate::kNoMeaning, field, "each node writes its own labels: there is no master");
    }
  }

  void ReadRestriction(std::string_view name, const Node& field) {
    Filters& filters = settings_.filters;
    if (name == "disableLabels") {
      filters.labels = !Flag(field, !filters.labels);
    } else if (name == "disableTaints") {
      no_taints_ = Flag(field, no_taints_);
      filters.taints = taints_ && !no_taints_;
    } else if (name == "disableExtendedResources") {
      filters.extended_resources = !Flag(field, !filters.extended_resources);
    } else if (name == "disableAnnotations") {
      filters.annotations = !Flag(field, !filters.annotations);
    } else if (name == "denyNodeFeatureLabels") {
      filters.foreign_labels = !Flag(field, !filters.foreign_labels);
    } else if (name == "allowOverwrite") {
      settings_.takes_over = Flag(field, settings_.takes_over);
    } else {
      notes_.Add(Fate::kNotTranslated, field,
                 "NodeFeature objects of all namespaces apply: restrict their labels with "
                 "denyNodeFeatureLabels, or their creation with RBAC");
    }
  }

  bool Flag(const Node& field, bool fallback) {
    const bool value = field.Bool().value_or(fallback);
    notes_.Add(Fate::kTranslated, field, "{}", value);
    return value;
  }

  using CheckItem = std::function<void(const Node& item, const std::string& text)>;
  Texts List(const Node& field, const CheckItem& check = nullptr) {
    Texts texts;
    field.ForEachItem([&](const Node& item) {
      if (auto text = item.String()) {
        if (check) {
          check(item, *text);
        }
        texts.push_back(*std::move(text));
      }
    });
    notes_.Add(Fate::kTranslated, field, "{}", Printable(Join(texts, ", "), 120));
    return texts;
  }

  void ReadPattern(const Node& field, std::vector<Pattern>& patterns) {
    const auto text = field.String();
    if (!text || text->empty()) {
      return;
    }
    if (auto pattern = field.Accept(Pattern::Compile(*text))) {
      patterns.push_back(*std::move(pattern));
      notes_.Add(Fate::kTranslated, field, "{}", Printable(*text, 60));
    }
  }

  LabelsSettings settings_;
  ForeignNotes& notes_;
  std::string_view file_;
  Problems rule_problems_;
  std::optional<Texts> label_sources_;
  bool taints_ = false;
  bool no_taints_ = false;
};

using ReadPart = LabelsSettings (Reader::*)(const Node& root);

StatusOr<ConvertedSettings> Convert(std::string_view text, std::string_view file,
                                    LabelsSettings base, ReadPart read) {
  ConvertedSettings converted;
  const doc::Format format = file.ends_with(".json") ? doc::Format::kJson : doc::Format::kYaml;
  StatusOr<doc::Located> document = doc::Located();
  if (!Trim(text).empty()) {
    document = doc::ParseLocated(text, format, file, doc::Limits{.bytes = kMaxRuleBytes});
    RETURN_IF_ERROR(document.status());
  }
  if (document->root.is_null()) {
    converted.settings = std::move(base);
    return converted;
  }
  Problems problems(file);
  ForeignNotes notes(file);
  Reader reader(std::move(base), notes, file);
  converted.settings = (reader.*read)(Node(*document, problems));
  RETURN_IF_ERROR(problems.ToStatus());
  const Status rules = reader.rule_problems().ToStatus();
  for (const std::string_view line : Split(Message(rules), '\n')) {
    if (!line.empty()) {
      converted.problems.emplace_back(line);
    }
  }
  converted.notes = notes.Take();
  return converted;
}

}  // namespace

StatusOr<ConvertedSettings> ReadNfdWorkerConfig(std::string_view text, std::string_view file,
                                                LabelsSettings base) {
  return Convert(text, file, std::move(base), &Reader::ReadWorker);
}

StatusOr<ConvertedSettings> ReadNfdMasterConfig(std::string_view text, std::string_view file,
                                                LabelsSettings base) {
  return Convert(text, file, std::move(base), &Reader::ReadMaster);
}

}  // namespace kgpu::labels
