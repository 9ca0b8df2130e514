// Plain values of a parsed document, for files too small for a reader of their own. Errors say what
// the value must be but not where it is: callers annotate them.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::doc {

// Errors: InvalidArgument, "must be a string".
Status ReadText(const boost::json::value& value, std::string& out);
// Errors: InvalidArgument, "must be true or false".
Status ReadFlag(const boost::json::value& value, bool& out);

// The strings in a list, without its other items; empty for null and for what is no list.
std::vector<std::string> TextsOf(const boost::json::value* list);

}  // namespace kgpu::doc
