// Reads everything that Node Feature Discovery's worker reads about a host, from files
// below a root and from CPUID, and makes its default labels
// (docs/reference/node-features.md).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/host/features/cpuid.h"
#include "src/host/features/feature_set.h"
#include "src/host/features/options.h"
#include "src/platform/sys/root.h"

namespace kgpu::features {

// Something that could not be read although the host seems to have it. It hides nothing else.
struct Problem {
  std::string source;  // "kernel"
  std::string text;    // file, what is wrong, fix
  bool operator==(const Problem&) const = default;
};

struct Reading {
  FeatureSet features;
  std::vector<Problem> problems;  // in the order of the sources
  bool operator==(const Reading&) const = default;
};

// Never fails as a whole. Thread: any; blocks on files of proc and sysfs only.
Reading ReadFeatures(const sys::Root& host, const FeatureOptions& options, CpuidReader& cpuid);

// NFD's labels for these features, with their full keys ("feature.node.kubernetes.io/…"). Labels
// that Kubernetes would reject are left out and named in `problems`, if that is given.
std::map<std::string, std::string> FeatureLabels(const FeatureSet& features,
                                                 const FeatureOptions& options,
                                                 std::vector<Problem>* problems = nullptr);

}  // namespace kgpu::features
