// The ConfigMap from which agents read the NodeConfig of their group.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <vector>

#include "src/cluster/controller/model.h"
#include "src/cluster/controller/work.h"

namespace kgpu::controller {

inline constexpr std::string_view kConfigMapName = "kgpu-policy";

// Its data: "POLICY.GROUP.yaml" of each group with a configuration, and selectors.yaml. Empty: no
// group has one.
boost::json::object ConfigMapData(const Model& model);
// What brings it up to date, if anything. Nothing while a policy is invalid from the start: its
// groups' configurations stay as they are.
void AddConfigMap(const Model& model, const std::string& space, std::vector<Work>& work);

}  // namespace kgpu::controller
