// A JSON schema (draft 7) of what a reader of documents accepts, found by asking it: keys, types,
// words and ranges.
#pragma once

#include <boost/json/fwd.hpp>

#include <functional>
#include <string_view>

#include "src/node/config/tree_reader.h"

namespace kgpu::config {

// Stands for every key of a map with any keys: readers must accept it, or go on after an error.
inline constexpr std::string_view kAnyKey = "*";

// Reads a document from its root.
using ReadRoot = std::function<void(const Node& root, Problems& problems)>;

// `standard`: a tree of defaults, or null. Below a map with any keys they are under kAnyKey.
boost::json::object SchemaOf(const ReadRoot& read, const boost::json::value* standard);

}  // namespace kgpu::config
