// Parts of API objects: find them, and remove those that nobody reads.
#pragma once

#include <boost/json/fwd.hpp>

#include <initializer_list>
#include <string_view>

namespace kgpu::functions {

// The object at a path of keys; null if there is none.
boost::json::object* ObjectBelow(boost::json::value& value,
                                 std::initializer_list<std::string_view> path);
void KeepOnly(boost::json::object& object, std::initializer_list<std::string_view> keys);
// An entry of status.conditions; null if there is none of this type.
const boost::json::value* FindCondition(const boost::json::value& object, std::string_view type);

}  // namespace kgpu::functions
