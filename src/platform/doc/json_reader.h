// The JSON half of doc.h; use doc::Parse.
#pragma once

#include <boost/json/fwd.hpp>
#include <boost/json/storage_ptr.hpp>

#include <string_view>

#include "src/platform/doc/doc.h"

namespace kgpu::doc {

// The value is allocated from `memory`, which may be a monotonic resource for a tree that is read
// once.
StatusOr<boost::json::value> ParseJson(std::string_view text, std::string_view file,
                                       const Limits& limits, boost::json::storage_ptr memory = {});

}  // namespace kgpu::doc
