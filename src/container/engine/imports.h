// The files that a containerd configuration imports.
#pragma once

#include <string_view>
#include <vector>

#include "src/container/engine/config_edit.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::engine {

// Follows containerd's rules: relative names start from the folder of the importing file, patterns
// expand in name order, a file's own imports come after those of the files before it, each file
// once. Leaves out `skipped`, and names that match nothing. Errors: InvalidArgument (a file that is
// no TOML, imports that are no list of texts), OutOfRange (more than 64 files). Source:
// containerd-config.toml(5), imports.
StatusOr<std::vector<NamedText>> ReadImports(const sys::Root& host, const NamedText& main,
                                             std::string_view skipped);

}  // namespace kgpu::engine
