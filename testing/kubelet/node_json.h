// The whole node as JSON, and why a pod still waits.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "testing/kubelet/node.h"

namespace kgpu::kubelet {

boost::json::value NodeJson(Node& node);
boost::json::value CallsJson(const CallLog& log);
// One line for people.
std::string WhyPending(Node& node, const Pod& pod);

}  // namespace kgpu::kubelet
