// The JSON half of doc.h; use doc::Parse.
#pragma once

#include <boost/json/fwd.hpp>

#include <string_view>

#include "src/doc/doc.h"

namespace kgpu::doc {

StatusOr<boost::json::value> ParseJson(std::string_view text, std::string_view file,
                                       const Limits& limits);

}  // namespace kgpu::doc
