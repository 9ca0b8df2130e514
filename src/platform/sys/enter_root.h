// The program chroot, for images that have none: RealRunner starts it for programs of the host.
#pragma once

#include <string_view>

namespace kgpu::sys {

inline constexpr std::string_view kChrootName = "chroot";

// Whether a program called `program` (argv[0]) is to be chroot.
bool IsCalledChroot(std::string_view program);

// `argv` as of main: chroot ROOT PROGRAM [ARGUMENT …]. Becomes PROGRAM with ROOT as its "/"; PATH
// is not searched. Returns only if that fails, with chroot's exit codes: 125 (no root, or the wrong
// arguments), 126 (PROGRAM cannot be run), 127 (it is missing), after one line on standard error.
int EnterRoot(int argc, char** argv);

}  // namespace kgpu::sys
