// The programs that stand before rpm: how they are called, and what they answer.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "src/platform/sys/run.h"

namespace kgpu::packages {

// What stands before rpm: repositories and what needs what.
enum class Front : uint8_t { kDnf, kYum, kZypper };

std::vector<std::string> InstallArguments(Front front);
std::vector<std::string> RemoveArguments(Front front);
// An installation without doing it: where a program asks before it begins, the answer is no.
std::vector<std::string> TrialArguments(Front front);
std::vector<std::string> RemovalTrialArguments(Front front);
// The packages that such a trial tells of: by name, of another architecture than the host's with
// that behind a colon.
std::set<std::string> NamesOfTrial(Front front, const sys::RunResult& result);
// Whether it reported them, and did not fail.
bool IsTrialHealthy(Front front, const sys::RunResult& result);

// Whether it did what it was asked to.
bool IsHealthy(Front front, const sys::RunResult& result);
// yum installs the others and is content.
bool PassedOver(Front front, const sys::RunResult& result);

}  // namespace kgpu::packages
