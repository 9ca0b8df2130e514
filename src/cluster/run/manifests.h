// The objects of a run. Pure functions.
#pragma once

#include <boost/json/value.hpp>

#include <string>
#include <vector>

#include "src/cluster/run/placement.h"
#include "src/cluster/run/request.h"

namespace kgpu::run {

// In the order in which they are created: a Job; a Pod; or a Secret, a PersistentVolumeClaim, a
// Service and a Deployment. Pods meet the Pod Security Standard "restricted", except with the
// image's own user.
std::vector<boost::json::value> ObjectsOf(const RunRequest& request, const Placement& placement);

// The pod that they lead to, as if it had been created by itself: to be judged.
boost::json::value PodOf(const std::vector<boost::json::value>& objects);

// "app.kubernetes.io/managed-by=kgpu-run", and with `name` that run alone.
std::string SelectorOf(std::string_view name = "");

inline constexpr char kInstanceLabel[] = "app.kubernetes.io/instance";
inline constexpr char kComponentLabel[] = "app.kubernetes.io/component";

}  // namespace kgpu::run
