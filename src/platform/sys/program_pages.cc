#include "src/platform/sys/program_pages.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace kgpu::sys {
namespace {

// Only whole pages of the segment: the loader may have written to a page that two segments
// share.
void Forget(uintptr_t first, uintptr_t end, uintptr_t page) {
  first = (first + page - 1) / page * page;
  end = end / page * page;
  if (first < end) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses come as numbers
    (void)madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
  }
}

// The program is the first object.
int VisitProgram(dl_phdr_info* program, size_t, void*) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (size_t i = 0; i < program->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = program->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) == 0) {
      const uintptr_t first = program->dlpi_addr + segment.p_vaddr;
      Forget(first, first + segment.p_filesz, page);
    }
  }
  return 1;
}

}  // namespace

void ForgetProgramPages() {
  (void)dl_iterate_phdr(&VisitProgram, nullptr);
}

}  // namespace kgpu::sys
