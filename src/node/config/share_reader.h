// Reads and prints pools[].share of a NodeConfig.
#pragma once

#include <boost/json/object.hpp>

#include "src/node/config/share.h"
#include "src/node/config/tree_reader.h"

namespace kgpu::config {

// A tree that ReadShare reads back.
boost::json::object ShareTree(const Share& share);

// Reports errors at their fields; then the result is any Share.
Share ReadShare(const Node& node);

}  // namespace kgpu::config
