// Plain values of a parsed document, for readers that are too small for a reader of their own. The
// errors say what the value must be and not where it stands: callers annotate them.
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

// The texts of a list; of what is null, no list or no text, nothing.
std::vector<std::string> TextsOf(const boost::json::value* list);

}  // namespace kgpu::doc
