// A selector in a document's tree.
#pragma once

#include "src/node/config/selector.h"
#include "src/node/config/tree_reader.h"

namespace kgpu::config {

// "all", or a map of at least one field. What is wrong is reported to the node's problems.
Selector ReadSelector(const Node& node);

// As ReadSelector reads it.
boost::json::value SelectorTree(const Selector& selector);

}  // namespace kgpu::config
