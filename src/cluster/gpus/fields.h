// Fields of API objects that may be missing.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <initializer_list>
#include <string_view>

namespace kgpu::gpus {

// Empty if there is no object.
const boost::json::object& MapAt(const boost::json::value& from,
                                 std::initializer_list<std::string_view> path);
bool FlagAt(const boost::json::value& from, std::initializer_list<std::string_view> path);
std::string_view ViewOf(boost::json::string_view text);

}  // namespace kgpu::gpus
