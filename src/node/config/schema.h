// What a NodeConfig may hold, as a JSON schema for editors.
#pragma once

#include <boost/json/fwd.hpp>

namespace kgpu::config {

// A JSON schema (draft 7), made by asking the reader of NodeConfigs itself what it accepts, and
// with the defaults it has. It knows keys, types, words and ranges; what only `kgpu config check`
// knows (names, selectors, what excludes what) it lets pass.
boost::json::value NodeConfigSchema();

}  // namespace kgpu::config
