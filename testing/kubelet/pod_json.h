// Pods as JSON: for people, programs, and the file that survives the process.
#pragma once

#include <boost/json/fwd.hpp>

#include "src/platform/base/status.h"
#include "testing/kubelet/pod.h"

namespace kgpu::kubelet {

boost::json::value ToJson(const PodSpec& spec);
boost::json::value ToJson(const Pod& pod);
// Parses ToJson's output; missing fields keep their defaults. `where` is only used in errors.
// Errors: InvalidArgument.
StatusOr<PodSpec> PodSpecFromJson(const boost::json::value& value, const std::string& where);
StatusOr<Pod> PodFromJson(const boost::json::value& value, const std::string& where);

}  // namespace kgpu::kubelet
