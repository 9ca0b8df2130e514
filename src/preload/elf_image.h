// A shared object as the loader has mapped it: its names, and changes to them.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace kgpu::preload {

// Addresses of mapped objects are numbers in their tables.
template <typename T>
T* PointerTo(uintptr_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// A view of memory that the loader owns: valid as long as the object stays loaded.
class ElfImage {
 public:
  ElfImage() = default;
  // `base` is what the loader adds to the object's addresses, `dynamic` its dynamic section. Its
  // program headers are those in front of a library.
  ElfImage(uintptr_t base, const ElfW(Dyn) * dynamic);
  // Programs have them elsewhere.
  ElfImage(uintptr_t base, const ElfW(Dyn) * dynamic, const ElfW(Phdr) * segments, size_t count)
      : ElfImage(base, dynamic) {
    segments_ = segments;
    segment_count_ = count;
  }

  bool is_ok() const {
    return symbols_ != nullptr && strings_ != nullptr && (gnu_hash_ != nullptr || hash_ != nullptr);
  }
  uintptr_t base() const { return base_; }
  const char* soname() const { return soname_; }
  // The address of a function or object that it defines; null if it does not.
  void* Find(const char* name) const;
  // Makes whoever looks `name` up find `target` from now on. False if that cannot be.
  bool Redirect(const char* name, const void* target) const;
  // Calls `visit(name)` for each symbol that it defines.
  template <typename Visit>
  void ForEachName(Visit&& visit) const {
    const size_t count = SymbolCount();
    for (size_t at = 1; at < count; ++at) {
      if (symbols_[at].st_shndx != SHN_UNDEF && symbols_[at].st_value != 0) {
        visit(strings_ + symbols_[at].st_name);
      }
    }
  }
  // Whether `address` is in a segment of the object.
  bool Contains(uintptr_t address) const { return is_ok() && Protection(address) >= 0; }
  // Calls `choose(name, address)` for each function of others that the object calls or takes the
  // address of, with what it is bound to now; where it returns an address, the object uses that
  // from now on.
  template <typename Choose>
  void Rebind(Choose&& choose) const {
    RebindTable(relocations_, relocations_size_, choose);
    RebindTable(plt_relocations_, plt_relocations_size_, choose);
  }

 private:
  const ElfW(Sym) * FindSymbol(const char* name) const;
  const ElfW(Sym) * FindByGnuHash(const char* name) const;
  bool Defines(uint32_t symbol, const char* name) const;
  size_t SymbolCount() const;
  // Writes one word of the object, whatever the protection of its page.
  bool Write(uintptr_t address, uint64_t value) const;
  int Protection(uintptr_t address) const;

  // Whether the place is a word with the function's address and nothing added.
  static bool IsWholeAddress(const ElfW(Rela) & relocation) {
    const auto type = ELF64_R_TYPE(relocation.r_info);
#if defined(__x86_64__)
    return type == R_X86_64_GLOB_DAT || type == R_X86_64_JUMP_SLOT ||
           (type == R_X86_64_64 && relocation.r_addend == 0);
#else
    return type == R_AARCH64_GLOB_DAT || type == R_AARCH64_JUMP_SLOT ||
           (type == R_AARCH64_ABS64 && relocation.r_addend == 0);
#endif
  }

  template <typename Choose>
  void RebindTable(const ElfW(Rela) * table, size_t size, Choose& choose) const {
    for (size_t at = 0; table != nullptr && at < size / sizeof(ElfW(Rela)); ++at) {
      const ElfW(Rela)& relocation = table[at];
      const ElfW(Sym)& symbol = symbols_[ELF64_R_SYM(relocation.r_info)];
      if (symbol.st_shndx != SHN_UNDEF || symbol.st_name == 0 || !IsWholeAddress(relocation)) {
        continue;
      }
      const uintptr_t place = base_ + relocation.r_offset;
      const uintptr_t bound = *PointerTo<const uintptr_t>(place);
      const auto target = reinterpret_cast<uintptr_t>(choose(strings_ + symbol.st_name, bound));
      if (target != 0 && target != bound) {
        (void)Write(place, target);
      }
    }
  }

  uintptr_t base_ = 0;
  const ElfW(Phdr) * segments_ = nullptr;
  size_t segment_count_ = 0;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  const char* soname_ = "";
  const uint32_t* gnu_hash_ = nullptr;
  const uint32_t* hash_ = nullptr;
  const ElfW(Rela) * relocations_ = nullptr;
  const ElfW(Rela) * plt_relocations_ = nullptr;
  size_t relocations_size_ = 0;
  size_t plt_relocations_size_ = 0;
};

// The object of our own namespace with that soname; not ok if none is loaded.
ElfImage FindImage(const char* soname);
// Calls `visit` with each object of our own namespace.
void ForEachImage(void (*visit)(const ElfImage& image));
// The address of `name` in the C library, wherever this release of it has the function; or null.
void* FindInLibc(const char* name);
// Whether `address` is inside this library.
bool IsOurs(const void* address);

}  // namespace kgpu::preload
