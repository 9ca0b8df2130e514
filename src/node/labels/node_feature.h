// NodeFeature objects of Node Feature Discovery's API: prints ours, reads and merges others'.
#pragma once

#include <boost/json/fwd.hpp>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/host/features/feature_set.h"
#include "src/platform/base/status.h"

namespace kgpu::labels {

inline constexpr std::string_view kNfdGroupVersion = "nfd.k8s-sigs.io/v1alpha1";
// The label that tells which node such an object is about.
inline constexpr std::string_view kNodeNameLabel = "nfd.node.kubernetes.io/node-name";

struct NodeFeature {
  std::string name;
  std::string name_space;
  std::string node;
  features::FeatureSet features;
  std::map<std::string, std::string> labels;  // keys as written
  bool operator==(const NodeFeature&) const = default;
};

// The object. Leaves out the features in `unpublished`: "pci.device", or "usb.*" for all with that
// prefix. The same input gives the same text, key by key.
boost::json::value PrintNodeFeature(const NodeFeature& feature,
                                    std::span<const std::string> unpublished = {});

// Errors: InvalidArgument with object, field and fix: a value of the wrong type, no node-name
// label. Ignores unknown fields: the API grows.
StatusOr<NodeFeature> ReadNodeFeature(const boost::json::value& object);

// The order in which NFD merges them: its own namespace first, then by name, then by
// namespace.
void SortNodeFeatures(std::vector<NodeFeature>& objects, std::string_view own_namespace);

}  // namespace kgpu::labels
