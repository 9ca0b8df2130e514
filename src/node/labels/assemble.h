// Combines everything that a node should carry, from all sources: the only place for precedence and
// filters. Pure functions.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "src/host/features/feature_set.h"
#include "src/node/labels/evaluate.h"
#include "src/node/labels/feature_files.h"
#include "src/node/labels/filters.h"
#include "src/node/labels/node_claims.h"
#include "src/node/labels/node_feature.h"
#include "src/node/labels/rules.h"

namespace kgpu::labels {

// Later ones win over earlier ones, from list to list and within a list. Borrows everything.
struct RuleInput {
  const features::FeatureSet& features;  // of this node
  std::span<const NodeClaims> own;       // labels for its features, its GPUs, …
  std::span<const RuleSet>
      file_rules;  // of the configuration and of custom.d; see features and files
  const FileFeatures& files;
  std::span<const NodeFeature> foreign;   // of others, about this node, in NFD's order
  std::span<const RuleSet> object_rules;  // NodeFeatureRule objects, in any order; see all features
  std::span<const Pattern> own_allow;     // for every label except `foreign` and `object_rules`
  const Filters& filters;
};

struct Assembled {
  NodeClaims claims;
  // What the node claims by itself, before the cluster's objects and filters: the labels in its
  // NodeFeature object, or in its feature file.
  std::map<std::string, std::string> own_labels;
  // Invalid claims, and errors in rules and files.
  std::vector<std::string> problems;
  // What the configuration filters out, for people who miss it.
  std::vector<std::string> left_out;
};

// `verdicts`, if given, receives the result of each rule.
Assembled Assemble(const RuleInput& input, std::vector<RuleVerdict>* verdicts = nullptr);

}  // namespace kgpu::labels
