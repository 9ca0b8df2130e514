// The YAML half of doc.h; use doc::Parse.
#pragma once

#include <boost/json/fwd.hpp>

#include <string_view>

#include "src/platform/doc/doc.h"
#include "src/platform/doc/located.h"

namespace kgpu::doc {

// `place` receives the positions of the tree's values; null: not needed.
StatusOr<boost::json::value> ParseYaml(std::string_view text, std::string_view file,
                                       const Limits& limits, Place* place);

// What a plain (unquoted) scalar means in YAML's core schema.
boost::json::value ScalarValue(std::string_view text);

}  // namespace kgpu::doc
