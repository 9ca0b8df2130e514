// The content of a TOML text, as a tree.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::edit {

// Tables are objects. What JSON cannot express (dates, not-a-number) is an object with one
// key, "toml:date" or "toml:number", and its text. ScanToml must have accepted `text`: its
// limits protect the parser, which recurses. Errors: InvalidArgument, with line and
// column.
StatusOr<boost::json::value> ParseTomlTree(std::string_view text, std::string_view file);

// A scalar, or a list of scalars, as TOML on one line. Errors: InvalidArgument (an object).
StatusOr<std::string> PrintTomlValue(const boost::json::value& value);

// A key part: bare if TOML allows it, else quoted.
std::string PrintTomlName(std::string_view name);

}  // namespace kgpu::edit
