#include "testing/simhost/elf_writer.h"

#include <elf.h>

#include <cstdint>
#include <cstring>

namespace kgpu::simhost {
namespace {

// The types of one ELF class, so that the writer below is written once.
struct Elf32 {
  using Ehdr = Elf32_Ehdr;
  using Phdr = Elf32_Phdr;
  using Shdr = Elf32_Shdr;
  using Sym = Elf32_Sym;
  using Dyn = Elf32_Dyn;
  static constexpr unsigned char kClass = ELFCLASS32;
};

struct Elf64 {
  using Ehdr = Elf64_Ehdr;
  using Phdr = Elf64_Phdr;
  using Shdr = Elf64_Shdr;
  using Sym = Elf64_Sym;
  using Dyn = Elf64_Dyn;
  static constexpr unsigned char kClass = ELFCLASS64;
};

// Both kernels map segments by pages; aarch64 distributions use pages of up to 64 KiB.
constexpr uint64_t kSegmentAlignment = 0x10000;

// One bucket, one (the null) symbol, no chains: lookups end at once.
constexpr uint32_t kEmptyHash[] = {1, 1, 0, 0};

constexpr std::string_view kSectionNames("\0.hash\0.dynsym\0.dynstr\0.dynamic\0.shstrtab\0", 42);

struct Region {
  uint64_t offset = 0;
  uint64_t size = 0;
};

// Where everything lies in the file; addresses equal offsets.
struct Layout {
  Region program_headers, hash, symbols, strings, dynamic, names, sections;
};

class StringTable {
 public:
  uint32_t Add(std::string_view text) {
    const auto offset = static_cast<uint32_t>(bytes_.size());
    bytes_.append(text).push_back('\0');
    return offset;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = std::string(1, '\0');
};

template <typename T>
void Put(std::string& file, uint64_t offset, const T& value) {
  std::memcpy(file.data() + offset, &value, sizeof value);
}

template <typename Elf>
Layout PlaceRegions(size_t dynamic_entries, size_t string_bytes) {
  uint64_t at = sizeof(typename Elf::Ehdr);
  const auto place = [&at](uint64_t size) {
    const Region region{(at + 7) & ~uint64_t{7}, size};
    at = region.offset + size;
    return region;
  };
  Layout layout;
  layout.program_headers = place(3 * sizeof(typename Elf::Phdr));
  layout.hash = place(sizeof kEmptyHash);
  layout.symbols = place(sizeof(typename Elf::Sym));
  layout.strings = place(string_bytes);
  layout.dynamic = place(dynamic_entries * sizeof(typename Elf::Dyn));
  layout.names = place(kSectionNames.size());
  layout.sections = place(6 * sizeof(typename Elf::Shdr));
  return layout;
}

template <typename Elf>
std::vector<typename Elf::Dyn> DynamicEntries(const Layout& layout, size_t string_bytes,
                                              uint32_t soname,
                                              const std::vector<uint32_t>& needed) {
  std::vector<typename Elf::Dyn> entries;
  const auto add = [&entries](int64_t tag, uint64_t value) {
    typename Elf::Dyn entry{};
    entry.d_tag = static_cast<decltype(entry.d_tag)>(tag);
    entry.d_un.d_val = static_cast<decltype(entry.d_un.d_val)>(value);
    entries.push_back(entry);
  };
  for (const uint32_t name : needed) {
    add(DT_NEEDED, name);
  }
  add(DT_SONAME, soname);
  add(DT_HASH, layout.hash.offset);
  add(DT_STRTAB, layout.strings.offset);
  add(DT_SYMTAB, layout.symbols.offset);
  add(DT_STRSZ, string_bytes);
  add(DT_SYMENT, sizeof(typename Elf::Sym));
  add(DT_NULL, 0);
  return entries;
}

template <typename Elf>
void PutHeader(std::string& file, const Layout& layout, uint16_t machine) {
  typename Elf::Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = Elf::kClass;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(typename Elf::Ehdr);
  header.e_phoff = static_cast<decltype(header.e_phoff)>(layout.program_headers.offset);
  header.e_phentsize = sizeof(typename Elf::Phdr);
  header.e_phnum = 3;
  header.e_shoff = static_cast<decltype(header.e_shoff)>(layout.sections.offset);
  header.e_shentsize = sizeof(typename Elf::Shdr);
  header.e_shnum = 6;
  header.e_shstrndx = 5;
  Put(file, 0, header);
}

template <typename Elf>
void PutSegments(std::string& file, const Layout& layout) {
  const auto segment = [&](unsigned index, uint32_t type, uint32_t flags, Region region,
                           uint64_t alignment) {
    typename Elf::Phdr header{};
    using Word = decltype(header.p_offset);
    header.p_type = type;
    header.p_flags = flags;
    header.p_offset = header.p_vaddr = header.p_paddr = static_cast<Word>(region.offset);
    header.p_filesz = header.p_memsz = static_cast<decltype(header.p_filesz)>(region.size);
    header.p_align = static_cast<decltype(header.p_align)>(alignment);
    Put(file, layout.program_headers.offset + index * sizeof header, header);
  };
  // Writable: ld.so stores relocated addresses into .dynamic on some machines.
  segment(0, PT_LOAD, PF_R | PF_W, {0, file.size()}, kSegmentAlignment);
  segment(1, PT_DYNAMIC, PF_R | PF_W, layout.dynamic, 8);
  segment(2, PT_GNU_STACK, PF_R | PF_W, {0, 0}, 16);
}

template <typename Elf>
void PutSections(std::string& file, const Layout& layout) {
  const auto section = [&](unsigned index, uint32_t name, uint32_t type, uint32_t link,
                           uint64_t entry_size, Region region) {
    typename Elf::Shdr header{};
    header.sh_name = name;
    header.sh_type = type;
    header.sh_flags = type == SHT_STRTAB && index == 5 ? 0 : SHF_ALLOC;
    header.sh_offset = static_cast<decltype(header.sh_offset)>(region.offset);
    header.sh_addr = header.sh_flags != 0 ? header.sh_offset : 0;
    header.sh_size = static_cast<decltype(header.sh_size)>(region.size);
    header.sh_link = link;
    header.sh_info = type == SHT_DYNSYM ? 1 : 0;
    header.sh_entsize = static_cast<decltype(header.sh_entsize)>(entry_size);
    header.sh_addralign = 8;
    Put(file, layout.sections.offset + index * sizeof header, header);
  };
  // Index 0 is the null section; names are offsets into kSectionNames.
  section(1, 1, SHT_HASH, 2, sizeof(uint32_t), layout.hash);
  section(2, 7, SHT_DYNSYM, 3, sizeof(typename Elf::Sym), layout.symbols);
  section(3, 15, SHT_STRTAB, 0, 0, layout.strings);
  section(4, 23, SHT_DYNAMIC, 3, sizeof(typename Elf::Dyn), layout.dynamic);
  section(5, 32, SHT_STRTAB, 0, 0, layout.names);
}

template <typename Elf>
std::string Build(uint16_t machine, std::string_view soname,
                  const std::vector<std::string>& needed) {
  StringTable strings;
  std::vector<uint32_t> needed_names;
  needed_names.reserve(needed.size());
  for (const std::string& name : needed) {
    needed_names.push_back(strings.Add(name));
  }
  const uint32_t soname_name = strings.Add(soname);
  const std::string& table = strings.bytes();
  const Layout layout = PlaceRegions<Elf>(needed.size() + 7, table.size());
  std::string file(layout.sections.offset + layout.sections.size, '\0');
  PutHeader<Elf>(file, layout, machine);
  Put(file, layout.hash.offset, kEmptyHash);
  file.replace(layout.strings.offset, table.size(), table);
  uint64_t at = layout.dynamic.offset;
  for (const auto& entry : DynamicEntries<Elf>(layout, table.size(), soname_name, needed_names)) {
    Put(file, at, entry);
    at += sizeof entry;
  }
  file.replace(layout.names.offset, kSectionNames.size(), kSectionNames);
  PutSegments<Elf>(file, layout);
  PutSections<Elf>(file, layout);
  return file;
}

}  // namespace

std::string StubSharedObject(ElfMachine machine, std::string_view soname,
                             const std::vector<std::string>& needed) {
  switch (machine) {
    case ElfMachine::kX86:
      return Build<Elf32>(EM_386, soname, needed);
    case ElfMachine::kAarch64:
      return Build<Elf64>(EM_AARCH64, soname, needed);
    case ElfMachine::kX86_64:
      break;
  }
  return Build<Elf64>(EM_X86_64, soname, needed);
}

}  // namespace kgpu::simhost
