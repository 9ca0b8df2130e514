// Whether a document fits a JSON schema: the keywords that ours use.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

namespace kgpu {

// Empty when `value` fits, else the path of what does not: ".pools[].share".
std::string SchemaMisfit(const boost::json::value& value, const boost::json::object& schema);

}  // namespace kgpu
