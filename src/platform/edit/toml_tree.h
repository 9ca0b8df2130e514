// What a TOML text says, as a tree.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::edit {

// Tables are objects. What JSON has no word for (dates, not-a-number) is an object with one key,
// "toml:date" or "toml:number", and its text.
// `text` must be one that ScanToml takes: its limits protect the parser, which recurses.
// Errors: InvalidArgument, with line and column.
StatusOr<boost::json::value> ParseTomlTree(std::string_view text, std::string_view file);

// A scalar, or a list of scalars, as TOML on one line. Errors: InvalidArgument (an object).
StatusOr<std::string> PrintTomlValue(const boost::json::value& value);

// A key part: bare where TOML allows it, else in quotes.
std::string PrintTomlName(std::string_view name);

}  // namespace kgpu::edit
