// All labels of one host: from its features, its GPUs, rule files, feature files and NFD's
// configuration, read again each time. Keeps what it read and compiled while the file is
// unchanged.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/host/features/feature_set.h"
#include "src/node/config/node_config.h"
#include "src/node/labels/assemble.h"
#include "src/node/labels/evaluate.h"
#include "src/node/labels/nfd_config.h"
#include "src/node/labels/node_claims.h"
#include "src/node/labels/node_feature.h"
#include "src/node/labels/rules.h"
#include "src/platform/base/clock.h"
#include "src/platform/sys/root.h"

namespace kgpu::labels {

// What the cluster adds.
struct ClusterLabels {
  std::vector<NodeFeature> features{};  // of others, about this node, in NFD's order
  std::vector<RuleSet> rules{};         // NodeFeatureRule objects
};

struct LabelLook {
  features::FeatureSet features;  // of this node
  Assembled labels;               // with problems of every source
  std::vector<std::string> unpublished;
  bool publishes = true;
  std::optional<WallTime> next_expiry;  // of a line in a feature file
  std::vector<RuleVerdict> verdicts;    // if requested
  uint64_t tag = 0;                     // as in LookOptions
};

struct LookOptions {
  NodeClaims gpus{};                               // see GpuClaims
  std::shared_ptr<const ClusterLabels> cluster{};  // null: it adds nothing, or is unknown
  WallTime now{};
  bool wants_verdicts = false;
  // Also reads features that no rule uses, to print or publish them.
  bool wants_all_features = false;
  uint64_t tag = 0;  // tells the caller which request was answered
};

// Thread: any, one at a time. Blocks on files of the host.
class LabelSource {
 public:
  // `host` must outlive the source. `node_name` empty: unknown.
  LabelSource(const sys::Root& host, config::LabelsConfig config, std::string node_name);

  // Rules come from `paths` below `root`, files or folders, instead of the configured folders.
  // `root` must outlive the source. Call it before the first Look.
  void UseRules(const sys::Root& root, std::vector<std::string> paths);

  LabelLook Look(const LookOptions& options);

 private:
  // The state of a file when it was read.
  struct Stamp {
    uint64_t inode = 0;
    int64_t size = 0;
    int64_t modified_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  using Stamps = std::map<std::string, Stamp>;

  Stamps StampFiles() const;
  // Whether the file exists.
  static bool AddStamp(const sys::Root& root, const std::string& path, Stamps& stamps);
  std::vector<std::string> MissingRules() const;
  void Load();
  void LoadNfdConfigs();
  void LoadRules(const std::string& path);
  FileFeatures ReadFiles(WallTime now) const;

  const sys::Root& host_;
  const config::LabelsConfig config_;
  const std::string node_name_;
  const sys::Root* rules_root_;  // never null
  std::vector<std::string> rule_paths_;
  bool is_loaded_ = false;
  Stamps stamps_;  // of what is loaded
  LabelsSettings settings_;
  std::vector<RuleSet> rules_;
  std::map<std::string, std::vector<RuleSet>> good_rules_;  // by file, from its last good read
  std::vector<std::string> load_problems_;
};

}  // namespace kgpu::labels
