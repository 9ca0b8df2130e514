// Reads configuration files of Node Feature Discovery's worker and master, so users keep theirs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/host/features/options.h"
#include "src/node/config/foreign.h"
#include "src/node/labels/filters.h"
#include "src/node/labels/rules.h"
#include "src/platform/base/status.h"

namespace kgpu::labels {

// An admin's settings for labels. The defaults are NFD's.
struct LabelsSettings {
  features::FeatureOptions features;
  bool reads_feature_files = true;   // features.d: local.label and local.feature for rules
  bool labels_feature_files = true;  // and labels from it
  bool runs_file_rules = true;       // `rules`, and those in custom.d
  std::vector<RuleSet> rules;        // from the configuration itself
  std::vector<Pattern> own_allow;    // for labels that the node itself claims
  // Left out of NodeFeature objects: "pci.device", "usb.*".
  std::vector<std::string> unpublished;
  bool publishes = true;   // off: computes everything, writes nothing
  bool takes_over = true;  // also labels, annotations and resources that somebody else has set
  Filters filters;
  bool operator==(const LabelsSettings&) const = default;
};

struct ConvertedSettings {
  LabelsSettings settings;
  std::vector<config::Note> notes;  // what happened to each key, in file order
  // Rules of sources.custom that are left out, with their positions: they cost no others.
  std::vector<std::string> problems{};
};

// Applies nfd-worker.conf and nfd-master.conf, in YAML or JSON, to `base`. Unknown keys become
// notes with the nearest key, since NFD ignores them too; an invalid value is an error with its
// position. Errors: InvalidArgument.
StatusOr<ConvertedSettings> ReadNfdWorkerConfig(std::string_view text, std::string_view file,
                                                LabelsSettings base = {});
StatusOr<ConvertedSettings> ReadNfdMasterConfig(std::string_view text, std::string_view file,
                                                LabelsSettings base = {});

}  // namespace kgpu::labels
