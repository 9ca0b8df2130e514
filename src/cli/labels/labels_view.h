// The output of `kgpu labels`. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/host/features/feature_set.h"
#include "src/node/labels/label_source.h"
#include "src/node/labels/node_claims.h"

namespace kgpu::cli {

// Only the labels, as sorted lines "key=value".
std::string LabelLines(const labels::NodeClaims& claims);
// Everything the node should carry, and the obstacles. Field names are part of the interface:
// docs/reference/node-labels.md.
boost::json::value LabelsJson(const labels::LabelLook& look);
// Raw features in the form of a NodeFeature object: flags, attributes, instances.
boost::json::value FeaturesJson(const features::FeatureSet& features);
// For people: labels, annotations, taints, extended resources in columns.
std::string LabelsTable(const labels::NodeClaims& claims);

}  // namespace kgpu::cli
