// All objects of the server as one text: what a test compares before and after.
#pragma once

#include <string>

#include "testing/apiserver/server_state.h"

namespace kgpu::apiserver {

// One line of JSON per object, sorted, with keys sorted; without events, and without the fields
// that count writes (resourceVersion, generation) or say when they were made.
std::string DumpText(const ServerState& state);

}  // namespace kgpu::apiserver
