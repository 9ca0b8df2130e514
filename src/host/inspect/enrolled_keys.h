// The keys that the firmware trusts: those that a person enrolled, in shim's list, and those of the
// firmware's own list.
#pragma once

#include <optional>
#include <string_view>

#include "src/platform/sys/root.h"

namespace kgpu::host {

// Whether the certificate in this file is trusted: it is in MokListRT, or in the firmware's `db`,
// which counts too unless a person configured shim otherwise. Nothing: it is not in `db` and no
// other list is readable, or the file does not exist. A kernel may also trust keys that a
// distribution or the owner built into it; those cannot be checked here.
std::optional<bool> IsKeyEnrolled(const sys::Root& host, std::string_view key_file);

}  // namespace kgpu::host
