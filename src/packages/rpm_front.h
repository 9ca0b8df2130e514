// The programs that stand before rpm: how they are called, and what they answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/sys/run.h"

namespace kgpu::packages {

// What stands before rpm: repositories and what needs what.
enum class Front : uint8_t { kDnf, kYum, kZypper };

std::vector<std::string> InstallArguments(Front front);
std::vector<std::string> RemoveArguments(Front front);
// An installation without doing it: where a program asks before it begins, the answer is no.
std::vector<std::string> TrialArguments(Front front);

bool IsWell(Front front, const sys::RunResult& result);
// yum installs the others and is content.
bool PassedOver(Front front, const sys::RunResult& result);
// "No" is an error to them, and only what they say tells it from others: dnf of version 4 and 5,
// yum.
bool IsNo(const sys::RunResult& result);

}  // namespace kgpu::packages
