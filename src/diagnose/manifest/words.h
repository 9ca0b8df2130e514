// Fixes that change single words. Private to this module.
#pragma once

#include <vector>

#include "src/diagnose/manifest/rules.h"
#include "src/platform/doc/located.h"

namespace kgpu::manifest {

// The changes of all matches that only change words, if each is on a line of its own:
// Draft::ApplyWords makes them all at once.
std::vector<Change> WordChanges(const Matches& matches, const doc::Located& located);

}  // namespace kgpu::manifest
