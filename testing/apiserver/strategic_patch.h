// Strategic merge patches: a merge patch that knows which lists are merged, and by which key.
#pragma once

#include <boost/json/fwd.hpp>

#include "src/platform/base/status.h"
#include "testing/apiserver/schema.h"

namespace kgpu::apiserver {

// Directives: "$patch": delete, replace or merge, in maps and list items;
// "$deleteFromPrimitiveList/NAME"; "$setElementOrder/NAME"; "$retainKeys". Errors: a Failure of
// code 400 or 422; `target` is then unusable.
Status StrategicPatch(boost::json::object& target, const boost::json::object& patch,
                      const Schema* schema);

}  // namespace kgpu::apiserver
