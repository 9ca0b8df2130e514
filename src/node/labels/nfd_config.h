// Configuration files of Node Feature Discovery's worker and master, so that its users keep theirs.
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

// What an admin wants of labels. The defaults are NFD's.
struct LabelsSettings {
  features::FeatureOptions features;
  bool reads_feature_files = true;   // features.d: local.label and local.feature for rules
  bool labels_feature_files = true;  // and labels of it
  bool runs_file_rules = true;       // `rules`, and those of custom.d
  std::vector<RuleSet> rules;        // written into the configuration
  std::vector<Pattern> own_allow;    // of labels the node itself asks for
  // Of a NodeFeature object: "pci.device", "usb.*".
  std::vector<std::string> unpublished;
  bool publishes = true;   // off: everything is computed, nothing is written
  bool takes_over = true;  // labels, annotations and resources that somebody else has set
  Filters filters;
  bool operator==(const LabelsSettings&) const = default;
};

struct ConvertedSettings {
  LabelsSettings settings;
  std::vector<config::Note> notes;  // what became of each key, in the order of the file
};

// nfd-worker.conf and nfd-master.conf, in YAML or JSON, upon `base`. Unknown keys are notes with
// the nearest, since their owner passes over them too; a value that means nothing and a wrong rule
// are errors with their places. Errors: InvalidArgument.
StatusOr<ConvertedSettings> ReadNfdWorkerConfig(std::string_view text, std::string_view file,
                                                LabelsSettings base = {});
StatusOr<ConvertedSettings> ReadNfdMasterConfig(std::string_view text, std::string_view file,
                                                LabelsSettings base = {});

}  // namespace kgpu::labels
