// A stub kubelet's responses as text for people.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/platform/base/status.h"

namespace kgpu::kubelet {

// `pod` as PodFromJson reads it, `status` and `calls` as NodeJson and CallsJson write them. Without
// a trailing newline. Errors: Internal (another version answers).
StatusOr<std::string> PodText(const boost::json::value& pod);
StatusOr<std::string> StatusText(const boost::json::value& status);
StatusOr<std::string> CallsText(const boost::json::value& calls);

}  // namespace kgpu::kubelet
