// Reads and prints pools[].share of a NodeConfig.
#pragma once

#include <boost/json/object.hpp>

#include "src/node/config/tree_reader.h"
#include "src/node/sharing/share.h"

namespace kgpu::config {

// A tree that ReadShare reads back.
boost::json::object ShareTree(const sharing::Share& share);

// Reports errors at their fields; then the result is any Share.
sharing::Share ReadShare(const Node& node);

}  // namespace kgpu::config
