#include "src/preload/elf_image.h"

#include <sys/mman.h>
#include <unistd.h>

#include "src/preload/text.h"

namespace kgpu::preload {
namespace {

// The loader replaces the file's addresses by real ones, except in read-only dynamic sections.
uintptr_t AddressOf(uintptr_t base, ElfW(Addr) value) {
  return value < base ? base + value : value;
}

struct GnuHash {
  uint32_t bucket_count;
  uint32_t first_symbol;
  uint32_t bloom_count;
  const uint32_t* buckets = nullptr;
  const uint32_t* chains = nullptr;
};

GnuHash ReadGnuHash(const uint32_t* table) {
  GnuHash hash{.bucket_count = table[0], .first_symbol = table[1], .bloom_count = table[2]};
  hash.buckets = table + 4 + hash.bloom_count * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  hash.chains = hash.buckets + hash.bucket_count;
  return hash;
}

ElfImage ImageOf(const dl_phdr_info& info) {
  for (int at = 0; at < info.dlpi_phnum; ++at) {
    const ElfW(Phdr)& header = info.dlpi_phdr[at];
    if (header.p_type == PT_DYNAMIC) {
      return {info.dlpi_addr, PointerTo<const ElfW(Dyn)>(info.dlpi_addr + header.p_vaddr),
              info.dlpi_phdr, info.dlpi_phnum};
    }
  }
  return {};
}

struct Search {
  const char* soname;
  ElfImage found;
};

int VisitSearched(dl_phdr_info* info, size_t /*size*/, void* data) {
  auto* search = static_cast<Search*>(data);
  const ElfImage image = ImageOf(*info);
  if (image.is_ok() && Equal(image.soname(), search->soname)) {
    search->found = image;
    return 1;
  }
  return 0;
}

struct Visitor {
  void (*visit)(const ElfImage& image);
};

int VisitEach(dl_phdr_info* info, size_t /*size*/, void* data) {
  const ElfImage image = ImageOf(*info);
  if (image.is_ok()) {
    static_cast<Visitor*>(data)->visit(image);
  }
  return 0;
}

}  // namespace

ElfImage::ElfImage(uintptr_t base, const ElfW(Dyn) * dynamic) : base_(base) {
  size_t soname = 0;
  for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) {
    const uintptr_t address = AddressOf(base, dynamic->d_un.d_ptr);
    switch (dynamic->d_tag) {
      case DT_SYMTAB:
        symbols_ = PointerTo<const ElfW(Sym)>(address);
        break;
      case DT_STRTAB:
        strings_ = PointerTo<const char>(address);
        break;
      case DT_GNU_HASH:
        gnu_hash_ = PointerTo<const uint32_t>(address);
        break;
      case DT_HASH:
        hash_ = PointerTo<const uint32_t>(address);
        break;
      case DT_RELA:
        relocations_ = PointerTo<const ElfW(Rela)>(address);
        break;
      case DT_RELASZ:
        relocations_size_ = dynamic->d_un.d_val;
        break;
      case DT_JMPREL:
        plt_relocations_ = PointerTo<const ElfW(Rela)>(address);
        break;
      case DT_PLTRELSZ:
        plt_relocations_size_ = dynamic->d_un.d_val;
        break;
      case DT_SONAME:
        soname = dynamic->d_un.d_val;
        break;
      default:
        break;
    }
  }
  if (strings_ != nullptr && soname != 0) {
    soname_ = strings_ + soname;
  }
}

bool ElfImage::Defines(uint32_t symbol, const char* name) const {
  const ElfW(Sym)& found = symbols_[symbol];
  return found.st_shndx != SHN_UNDEF && found.st_value != 0 &&
         Equal(strings_ + found.st_name, name);
}

// Source: "ELF: GNU hash" as glibc's dl-lookup.c reads it.
const ElfW(Sym) * ElfImage::FindByGnuHash(const char* name) const {
  const GnuHash hash = ReadGnuHash(gnu_hash_);
  uint32_t wanted = 5381;
  for (const char* letter = name; *letter != '\0'; ++letter) {
    wanted = wanted * 33 + static_cast<unsigned char>(*letter);
  }
  uint32_t at = hash.bucket_count == 0 ? 0 : hash.buckets[wanted % hash.bucket_count];
  if (at < hash.first_symbol || at == 0) {
    return nullptr;
  }
  for (bool is_last = false; !is_last; ++at) {
    const uint32_t found = hash.chains[at - hash.first_symbol];
    is_last = (found & 1) != 0;
    if ((found | 1) == (wanted | 1) && Defines(at, name)) {
      return &symbols_[at];
    }
  }
  return nullptr;
}

// Objects with the older table only are searched from end to end: it happens once for each name.
const ElfW(Sym) * ElfImage::FindSymbol(const char* name) const {
  if (gnu_hash_ != nullptr) {
    return FindByGnuHash(name);
  }
  const size_t count = SymbolCount();
  for (uint32_t at = 1; at < count; ++at) {
    if (Defines(at, name)) {
      return &symbols_[at];
    }
  }
  return nullptr;
}

size_t ElfImage::SymbolCount() const {
  if (hash_ != nullptr) {
    return hash_[1];  // the number of chains is that of symbols. Source: System V ABI, "Hash Table"
  }
  const GnuHash hash = ReadGnuHash(gnu_hash_);
  uint32_t last = 0;
  for (uint32_t at = 0; at < hash.bucket_count; ++at) {
    last = hash.buckets[at] > last ? hash.buckets[at] : last;
  }
  if (last < hash.first_symbol) {
    return 0;
  }
  while ((hash.chains[last - hash.first_symbol] & 1) == 0) {
    ++last;
  }
  return last + 1;
}

void* ElfImage::Find(const char* name) const {
  const ElfW(Sym)* symbol = is_ok() ? FindSymbol(name) : nullptr;
  return symbol == nullptr ? nullptr : PointerTo<void>(base_ + symbol->st_value);
}

bool ElfImage::Redirect(const char* name, const void* target) const {
  const ElfW(Sym)* symbol = is_ok() ? FindSymbol(name) : nullptr;
  // Addresses are added modulo 2^64: the difference may be "negative".
  return symbol != nullptr && Write(reinterpret_cast<uintptr_t>(&symbol->st_value),
                                    reinterpret_cast<uintptr_t>(target) - base_);
}

// How the page was mapped; -1 if it is none of the object's.
int ElfImage::Protection(uintptr_t address) const {
  const ElfW(Phdr)* segments = segments_;
  size_t count = segment_count_;
  if (segments == nullptr) {
    const auto* header = PointerTo<const ElfW(Ehdr)>(base_);
    segments = PointerTo<const ElfW(Phdr)>(base_ + header->e_phoff);
    count = header->e_phnum;
  }
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  int protection = -1;
  for (size_t at = 0; at < count; ++at) {
    const uintptr_t start = base_ + segments[at].p_vaddr;
    const uintptr_t end = start + segments[at].p_memsz;
    if (segments[at].p_type == PT_LOAD && address >= start && address < end) {
      protection = ((segments[at].p_flags & PF_R) != 0 ? PROT_READ : 0) |
                   ((segments[at].p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
                   ((segments[at].p_flags & PF_X) != 0 ? PROT_EXEC : 0);
    }
    if (segments[at].p_type == PT_GNU_RELRO && address >= start && address < (end & ~(page - 1))) {
      return PROT_READ;
    }
  }
  return protection;
}

bool ElfImage::Write(uintptr_t address, uint64_t value) const {
  const int protection = Protection(address);
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* start = PointerTo<void>(address & ~(page - 1));
  if (protection < 0 ||
      ((protection & PROT_WRITE) == 0 && mprotect(start, page, protection | PROT_WRITE) != 0)) {
    return false;
  }
  __atomic_store_n(PointerTo<uint64_t>(address), value, __ATOMIC_RELEASE);
  if ((protection & PROT_WRITE) == 0) {
    (void)mprotect(start, page, protection);
  }
  return true;
}

ElfImage FindImage(const char* soname) {
  Search search{.soname = soname, .found = {}};
  (void)dl_iterate_phdr(&VisitSearched, &search);
  return search.found;
}

void ForEachImage(void (*visit)(const ElfImage& image)) {
  Visitor visitor{visit};
  (void)dl_iterate_phdr(&VisitEach, &visitor);
}

void* FindInLibc(const char* name) {
  void* found = FindImage("libc.so.6").Find(name);
  // Until glibc 2.34, functions for loading were in a library of their own.
  return found != nullptr ? found : FindImage("libdl.so.2").Find(name);
}

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names
extern "C" const char __ehdr_start[] __attribute__((visibility("hidden")));
extern "C" const char _end[] __attribute__((visibility("hidden")));
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

bool IsOurs(const void* address) {
  return address >= static_cast<const void*>(&__ehdr_start[0]) &&
         address < static_cast<const void*>(&_end[0]);
}

}  // namespace kgpu::preload
