// The log of a module's build that DKMS names when it fails.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/sys/root.h"

namespace kgpu::packages {

// The last path that DKMS names in what was printed: "… Consult /var/lib/dkms/…/make.log for more
// …"; empty: it names none.
std::string DkmsLogIn(std::string_view printed);

// What the compiler said, of such a log; empty: nothing, or the log cannot be read.
std::string CompilerErrors(const sys::Root& host, std::string_view log);

}  // namespace kgpu::packages
