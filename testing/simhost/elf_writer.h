// The smallest shared objects that ld.so, ldconfig and readelf accept: stand-ins for driver
// libraries of which only the name, the SONAME and the machine matter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kgpu::simhost {

enum class ElfMachine { kX86, kX86_64, kAarch64 };

// A shared object without code: one read-only segment, an empty symbol table, DT_SONAME and one
// DT_NEEDED for each of `needed`. The bytes only depend on the arguments. Source: elf(5), the
// System V ABI, "Dynamic Linking".
std::string StubSharedObject(ElfMachine machine, std::string_view soname,
                             const std::vector<std::string>& needed);

}  // namespace kgpu::simhost
