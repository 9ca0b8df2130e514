// Fixes that change single words. Private to this module.
#pragma once

#include <vector>

#include "src/diagnose/manifest/rules.h"
#include "src/platform/doc/located.h"

namespace kgpu::manifest {

// The changes of all matches that are fixed by words alone, as far as each stands on a line of
// its own: those that Draft::ApplyWords makes at once.
std::vector<Change> WordChanges(const Matches& matches, const doc::Located& located);

}  // namespace kgpu::manifest
