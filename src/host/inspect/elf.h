// The few facts about an ELF file that we need to place a library. Reads untrusted files: checks
// every offset against the available bytes. Source: elf(5), System V ABI.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::host {

enum class ElfMachine { kUnknown, kX86_64, kI386, kAarch64 };

// "x86_64", "i386", "aarch64", "unknown".
std::string_view ToString(ElfMachine machine);
// The machine this program was built for.
ElfMachine NativeMachine();

struct ElfInfo {
  ElfMachine machine = ElfMachine::kUnknown;
  bool is_64bit = false;
  bool is_shared_object = false;    // ET_DYN
  std::string soname;               // DT_SONAME; empty for none
  std::vector<std::string> needed;  // DT_NEEDED in order
  std::string build_id;             // lower-case hex of the GNU build id; empty for none
};

// Takes the whole file, or a prefix that holds headers, dynamic section, strings and notes (only
// the build id may lie beyond it, and then counts as absent). Little-endian files only. Errors:
// InvalidArgument naming the invalid field and its offset.
StatusOr<ElfInfo> ParseElf(std::string_view bytes);

// Reads only the parts of a file that ParseElf uses: driver libraries can have 100 MB. Errors:
// InvalidArgument, and those of opening the file.
StatusOr<ElfInfo> ReadElf(const sys::Root& root, std::string_view path);

}  // namespace kgpu::host
