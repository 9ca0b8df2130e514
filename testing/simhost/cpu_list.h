// The kernel's two notations for a set of CPUs.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace kgpu::simhost {

// CPUs of "0-3,8". Ignores parts that are no range, and CPUs from 8,192 on.
std::set<unsigned> CpusOf(std::string_view list);

// Hexadecimal words of 32 CPUs, highest first: "00000000,0000010f".
std::string CpuMask(const std::set<unsigned>& cpus);

}  // namespace kgpu::simhost
