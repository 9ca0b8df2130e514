// Files of packages that are kept in a folder of the host, so that they can come back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/host/packages/calls.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::packages {

// Paths of the files below `folder`, however deep, whose names end so, in order; none where there
// is no such folder.
std::vector<std::string> FilesBelow(const sys::Root& host, const std::string& folder,
                                    std::string_view end);

// That they are there, and stay through a power cut. Errors: FailedPrecondition (there are fewer
// than `count` of them, or one is empty), those of fsync(2).
Status CheckKept(const sys::Root& host, const std::string& folder, std::string_view end,
                 size_t count);

// That a program of the package manager can read each of them whole, by `argv` with its path behind
// it. Errors: FailedPrecondition (it cannot), those of the runner.
Status LookInto(const Calls& calls, const std::vector<std::string>& argv,
                const std::vector<std::string>& files);

}  // namespace kgpu::packages
