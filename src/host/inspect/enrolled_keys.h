// The keys that the firmware trusts: those that a person enrolled, by shim's list of them, and
// those of the firmware's own list.
#pragma once

#include <optional>
#include <string_view>

#include "src/platform/sys/root.h"

namespace kgpu::host {

// Whether the certificate in this file is trusted: it is in MokListRT, or in the firmware's `db`,
// which counts as well unless a person configured shim otherwise. Nothing: it is not in `db` and
// there is no other list to be seen, or there is no such file. Kernels that a distribution or a
// host's owner gave keys of their own trust those, too, which is not seen here.
std::optional<bool> IsKeyEnrolled(const sys::Root& host, std::string_view key_file);

}  // namespace kgpu::host
