// The smallest file that passes for a library of this machine.
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <string_view>

namespace kgpu {

// With `content` behind its headers.
inline std::string ElfLibrary(std::string_view content) {
  Elf64_Ehdr header{};
  memcpy(&header.e_ident[0], ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
#if defined(__x86_64__)
  header.e_machine = EM_X86_64;
#else
  header.e_machine = EM_AARCH64;
#endif
  header.e_phoff = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = PF_R | PF_X;
  segment.p_filesz = sizeof(header) + sizeof(segment) + content.size();
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) +
         std::string(reinterpret_cast<const char*>(&segment), sizeof(segment)) +
         std::string(content);
}

}  // namespace kgpu
