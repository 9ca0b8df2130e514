// The front ends of rpm: their command lines, and how to read their answers.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "src/platform/sys/run.h"

namespace kgpu::packages {

// Front end of rpm: handles repositories and dependencies.
enum class Front : uint8_t { kDnf, kYum, kZypper };

std::vector<std::string> InstallArguments(Front front);
std::vector<std::string> RemoveArguments(Front front);
// A dry run of an installation: if the program asks before it begins, the answer is no.
std::vector<std::string> TrialArguments(Front front);
std::vector<std::string> RemovalTrialArguments(Front front);
// The packages that such a dry run lists: by name; a foreign architecture follows after a
// colon.
std::set<std::string> NamesOfTrial(Front front, const sys::RunResult& result);
// Whether the dry run listed them, and did not fail.
bool IsTrialHealthy(Front front, const sys::RunResult& result);

// Whether it did what it was asked to do.
bool IsHealthy(Front front, const sys::RunResult& result);
// Whether yum skipped a package: it then installs the others and reports success.
bool PassedOver(Front front, const sys::RunResult& result);

}  // namespace kgpu::packages
