// Values of the standard library as JSON, which Debian's abseil and Boost do not convert.
#pragma once

#include <boost/json/value.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::driver_install {

boost::json::string Json(std::string_view text);
boost::json::array Json(const std::vector<std::string>& texts);
boost::json::object Json(const std::map<std::string, std::string>& texts);

}  // namespace kgpu::driver_install
