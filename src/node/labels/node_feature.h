// NodeFeature objects of Node Feature Discovery's API: ours printed, others' read and merged.
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
// The label by which such an object says which node it is about.
inline constexpr std::string_view kNodeNameLabel = "nfd.node.kubernetes.io/node-name";

struct NodeFeature {
  std::string name;
  std::string name_space;
  std::string node;
  features::FeatureSet features;
  std::map<std::string, std::string> labels;  // keys as written
  bool operator==(const NodeFeature&) const = default;
};

// The object. Features that `unpublished` names are left out: "pci.device", or "usb.*" for all that
// begin so. The same input is the same text, key by key.
boost::json::value PrintNodeFeature(const NodeFeature& feature,
                                    std::span<const std::string> unpublished = {});

// Errors: InvalidArgument, naming object, field and fix: a value of a wrong kind, no node-name
// label. Fields that are not known are passed over: the API grows.
StatusOr<NodeFeature> ReadNodeFeature(const boost::json::value& object);

// The order in which NFD merges them: those of its own namespace first, then by name, then by
// namespace.
void SortNodeFeatures(std::vector<NodeFeature>& objects, std::string_view own_namespace);

}  // namespace kgpu::labels
