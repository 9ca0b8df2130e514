// The log of a failed module build, which DKMS names in its output.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/sys/root.h"

namespace kgpu::packages {

// The last path that DKMS names in its output: "… Consult /var/lib/dkms/…/make.log for more …";
// empty: it names none.
std::string DkmsLogIn(std::string_view printed);

// The compiler's errors in such a log; empty: none, or the log is unreadable.
std::string CompilerErrors(const sys::Root& host, std::string_view log);

}  // namespace kgpu::packages
