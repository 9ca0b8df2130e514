// The answers of a stub kubelet as text for people.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/platform/base/status.h"

namespace kgpu::kubelet {

// `pod` as PodFromJson takes it, `status` and `calls` as NodeJson and CallsJson make them. Without
// a newline at the end. Errors: Internal (another version answers).
StatusOr<std::string> PodText(const boost::json::value& pod);
StatusOr<std::string> StatusText(const boost::json::value& status);
StatusOr<std::string> CallsText(const boost::json::value& calls);

}  // namespace kgpu::kubelet
