// What one node should carry, of everything that asks for it: the one place where precedence and
// filters stand. Pure.
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

// A later one wins over an earlier one, list by list and within a list. Borrows everything.
struct RuleInput {
  const features::FeatureSet& features;  // of this node
  std::span<const NodeClaims> own;       // labels of its features, of its GPUs, …
  std::span<const RuleSet>
      file_rules;  // of the configuration and of custom.d; see features and files
  const FileFeatures& files;
  std::span<const NodeFeature> foreign;   // of others, about this node, in NFD's order
  std::span<const RuleSet> object_rules;  // NodeFeatureRule objects, in any order; see all features
  std::span<const Pattern> own_allow;     // every label but of `foreign` and `object_rules`
  const Filters& filters;
};

struct Assembled {
  NodeClaims claims;
  // What the node asks for by itself, before the cluster's objects and filters: the labels of its
  // NodeFeature object, or of its feature file.
  std::map<std::string, std::string> own_labels;
  // What nobody would take, and what is wrong with rules and files.
  std::vector<std::string> problems;
  // What the configuration leaves out, for people who miss it.
  std::vector<std::string> left_out;
};

// `verdicts`, when given, takes what became of each rule.
Assembled Assemble(const RuleInput& input, std::vector<RuleVerdict>* verdicts = nullptr);

}  // namespace kgpu::labels
