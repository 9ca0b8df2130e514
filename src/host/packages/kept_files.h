// Package files that are kept in a folder of the host, so that they can be reinstalled.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/host/packages/calls.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::packages {

// Paths of the files below `folder`, at any depth, whose names end with the given suffix, sorted;
// empty if there is no such folder.
std::vector<std::string> FilesBelow(const sys::Root& host, const std::string& folder,
                                    std::string_view end);

// Checks that they exist, and makes them survive a power cut. Errors: FailedPrecondition (fewer
// than `count`, or one is empty), those of fsync(2).
Status CheckKept(const sys::Root& host, const std::string& folder, std::string_view end,
                 size_t count);

// Checks that a program of the package manager can read each of them completely, by `argv` followed
// by its path. Errors: FailedPrecondition (it cannot), those of the runner.
Status LookInto(const Calls& calls, const std::vector<std::string>& argv,
                const std::vector<std::string>& files);

}  // namespace kgpu::packages
