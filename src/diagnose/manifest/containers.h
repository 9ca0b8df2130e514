// Finds the containers of a pod. Private to this module.
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

// Init containers first, then its own, then ephemeral ones; and that of a workflow step, which is a
// single `container`.
std::vector<Container> ContainersOf(const PodSpec& pod);

// The items of a list, each with its path; none if there is no such list.
std::vector<Container> ItemsOf(const boost::json::value* map, const Path& at, std::string_view key);

}  // namespace kgpu::manifest
