// The kernel's two ways to write a set of CPUs.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace kgpu::simhost {

// CPUs of "0-3,8". Pieces that are no range, and CPUs from 8,192 on, are left out.
std::set<unsigned> CpusOf(std::string_view list);

// Hexadecimal words of 32 CPUs, highest first: "00000000,0000010f".
std::string CpuMask(const std::set<unsigned>& cpus);

}  // namespace kgpu::simhost
