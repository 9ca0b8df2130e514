// The two patch languages that need no schema. Pure functions; whatever the patch contains, they
// only fail with a Failure.
#pragma once

#include <boost/json/fwd.hpp>

#include "src/platform/base/status.h"

namespace kgpu::apiserver {

// RFC 7386: maps are merged, null deletes, everything else is replaced.
void MergePatch(boost::json::value& target, const boost::json::value& patch);

// RFC 6902, all operations in order or none. Errors: a Failure of code 400 (no patch), 422 (not
// applicable to this object), 413 (over 10,000 operations).
Status JsonPatch(boost::json::value& target, const boost::json::value& patch);

}  // namespace kgpu::apiserver
