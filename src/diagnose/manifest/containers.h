// The containers of a pod. Private to this module.
#pragma once

#include <boost/json/value.hpp>

#include <string_view>
#include <vector>

#include "src/diagnose/manifest/rules.h"

namespace kgpu::manifest {

struct Container {
  const boost::json::value* value = nullptr;
  Path path{};
};

// Those that start the pod first, then its own, then those added for debugging; and the one of a
// workflow's step, which stands alone as `container`.
std::vector<Container> ContainersOf(const PodSpec& pod);

// The items of a list, each with its path; none where there is no such list.
std::vector<Container> ItemsOf(const boost::json::value* map, const Path& at, std::string_view key);

}  // namespace kgpu::manifest
