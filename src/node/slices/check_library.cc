#include "src/node/slices/check_library.h"

#include <elf.h>

#include <cstring>

namespace kgpu::slices {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
#error "which machine is this?"
#endif

bool Fits(std::string_view bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

// Empty: it can be loaded.
std::string_view ProblemOf(std::string_view bytes) {
  Elf64_Ehdr header{};
  if (bytes.size() < sizeof(header) || !bytes.starts_with(ELFMAG) ||
      bytes[EI_CLASS] != ELFCLASS64 || bytes[EI_DATA] != ELFDATA2LSB) {
    return "it is no library";
  }
  memcpy(&header, bytes.data(), sizeof(header));
  if (header.e_type != ET_DYN) {
    return "it is no library";
  }
  if (header.e_machine != kMachine) {
    return "it is for another machine";
  }
  bool has_code = false;
  for (uint64_t at = 0; at < header.e_phnum; ++at) {
    Elf64_Phdr segment{};
    const uint64_t offset = header.e_phoff + at * sizeof(segment);
    if (header.e_phentsize != sizeof(segment) || !Fits(bytes, offset, sizeof(segment))) {
      return "it is incomplete";
    }
    memcpy(&segment, bytes.data() + offset, sizeof(segment));
    if (segment.p_type == PT_LOAD && !Fits(bytes, segment.p_offset, segment.p_filesz)) {
      return "it is incomplete";
    }
    has_code = has_code || (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0);
  }
  return has_code ? "" : "it has no code";
}

}  // namespace

Status CheckLibrary(std::string_view bytes, std::string_view path) {
  const std::string_view problem = ProblemOf(bytes);
  return problem.empty() ? OkStatus()
                         : FailedPrecondition(
                               "{}: no program here could load it: {}: install the "
                               "libkgpu-share.so of this version",
                               path, problem);
}

}  // namespace kgpu::slices
