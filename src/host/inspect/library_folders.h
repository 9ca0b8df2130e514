// The only table of library folders by machine: where distributions put libraries, and where image
// families look for them. Nothing else in the program spells a triplet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/host/inspect/elf.h"

namespace kgpu::host {

struct MachineFolders {
  ElfMachine machine = ElfMachine::kUnknown;
  std::string_view triplet;    // Debian's multiarch name: "x86_64-linux-gnu"
  std::string_view multiarch;  // "usr/lib/x86_64-linux-gnu": Debian, Ubuntu
  std::string_view plain;      // "usr/lib64", 32-bit "usr/lib": RHEL, SUSE, Amazon and others
};

// Null for kUnknown. The row lives as long as the program.
const MachineFolders* FoldersOf(ElfMachine machine);

// Folders relative to a driver root that may have NVIDIA's libraries besides those in ld.so.cache,
// in order of preference; they need not exist.
std::vector<std::string> CandidateLibraryFolders();

}  // namespace kgpu::host
