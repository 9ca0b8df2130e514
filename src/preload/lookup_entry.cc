// The entries of dlsym and its kin. Each asks what to do with the arguments and leaves by a jump,
// so that the C library sees the return address of the program: from it, it tells RTLD_NEXT, run
// paths and namespaces. No compiler can be relied on to do that.

#if defined(__x86_64__)
// Decisions come in rax (result) and rdx (target).
#define KGPU_ENTRY(name, decide)                \
  __asm__(                                      \
      ".text\n"                                 \
      ".balign 16\n"                            \
      ".globl " #name                           \
      "\n"                                      \
      ".hidden kgpu_" #name                     \
      "\n"                                      \
      ".globl kgpu_" #name                      \
      "\n"                                      \
      ".type " #name                            \
      ", @function\n"                           \
      ".type kgpu_" #name ", @function\n" #name \
      ":\n"                                     \
      "kgpu_" #name                             \
      ":\n"                                     \
      ".cfi_startproc\n"                        \
      "endbr64\n"                               \
      "push %rdi\n"                             \
      ".cfi_adjust_cfa_offset 8\n"              \
      "push %rsi\n"                             \
      ".cfi_adjust_cfa_offset 8\n"              \
      "push %rdx\n"                             \
      ".cfi_adjust_cfa_offset 8\n"              \
      "call " #decide                           \
      "\n"                                      \
      "mov %rdx, %r11\n"                        \
      "pop %rdx\n"                              \
      ".cfi_adjust_cfa_offset -8\n"             \
      "pop %rsi\n"                              \
      ".cfi_adjust_cfa_offset -8\n"             \
      "pop %rdi\n"                              \
      ".cfi_adjust_cfa_offset -8\n"             \
      "test %r11, %r11\n"                       \
      "je 1f\n"                                 \
      "jmp *%r11\n"                             \
      "1: ret\n"                                \
      ".cfi_endproc\n"                          \
      ".size " #name ", . - " #name "\n")
#elif defined(__aarch64__)
// Decisions come in x0 (result) and x1 (target).
#define KGPU_ENTRY(name, decide)                \
  __asm__(                                      \
      ".text\n"                                 \
      ".balign 16\n"                            \
      ".globl " #name                           \
      "\n"                                      \
      ".hidden kgpu_" #name                     \
      "\n"                                      \
      ".globl kgpu_" #name                      \
      "\n"                                      \
      ".type " #name                            \
      ", %function\n"                           \
      ".type kgpu_" #name ", %function\n" #name \
      ":\n"                                     \
      "kgpu_" #name                             \
      ":\n"                                     \
      ".cfi_startproc\n"                        \
      "hint #34\n"                              \
      "stp x29, x30, [sp, #-48]!\n"             \
      ".cfi_def_cfa_offset 48\n"                \
      ".cfi_offset 29, -48\n"                   \
      ".cfi_offset 30, -40\n"                   \
      "mov x29, sp\n"                           \
      "stp x0, x1, [sp, #16]\n"                 \
      "str x2, [sp, #32]\n"                     \
      "bl " #decide                             \
      "\n"                                      \
      "mov x16, x1\n"                           \
      "cbz x16, 1f\n"                           \
      "ldp x0, x1, [sp, #16]\n"                 \
      "ldr x2, [sp, #32]\n"                     \
      "ldp x29, x30, [sp], #48\n"               \
      "br x16\n"                                \
      "1: ldp x29, x30, [sp], #48\n"            \
      "ret\n"                                   \
      ".cfi_endproc\n"                          \
      ".size " #name ", . - " #name "\n")
#else
#error "write this machine's entries"
#endif

KGPU_ENTRY(dlsym, KgpuDecideDlsym);
KGPU_ENTRY(dlvsym, KgpuDecideDlvsym);
KGPU_ENTRY(dlopen, KgpuDecideDlopen);
KGPU_ENTRY(dlmopen, KgpuDecideDlmopen);
