// Pods as JSON: for people, for programs, and for the file that outlives the process.
#pragma once

#include <boost/json/fwd.hpp>

#include "src/platform/base/status.h"
#include "testing/kubelet/pod.h"

namespace kgpu::kubelet {

boost::json::value ToJson(const PodSpec& spec);
boost::json::value ToJson(const Pod& pod);
// What ToJson wrote; fields that are not there keep their defaults. `where` is only named in
// errors. Errors: InvalidArgument.
StatusOr<PodSpec> PodSpecFromJson(const boost::json::value& value, const std::string& where);
StatusOr<Pod> PodFromJson(const boost::json::value& value, const std::string& where);

}  // namespace kgpu::kubelet
