// The keys that a person enrolled in the firmware, by shim's list of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/sys/root.h"

namespace kgpu::host {

// The list's bytes, in which each certificate stands whole. A list too long for one variable is
// cut, and goes on in MokListRT1 and so on; the kernel has the whole of it in a file that only root
// may read. Nothing: no list is shown. Source: efivarfs and mok-variables of the kernel.
std::optional<std::string> EnrolledKeys(const sys::Root& host);
// Whether the certificate in this file is in it. Nothing: no list is shown, or no such file.
std::optional<bool> IsKeyEnrolled(const sys::Root& host, std::string_view key_file);

}  // namespace kgpu::host
