// Reads and writes a selector in a document's tree.
#pragma once

#include "src/node/config/selector.h"
#include "src/node/config/tree_reader.h"

namespace kgpu::config {

// "all", or a map with at least one field. Reports errors to the node's problems.
Selector ReadSelector(const Node& node);

// In the form that ReadSelector reads.
boost::json::value SelectorTree(const Selector& selector);

}  // namespace kgpu::config
