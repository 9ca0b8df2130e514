// Linked into the programs that need the host's C library, so that they start on hosts whose glibc
// is older than the one they were built with. glibc 2.34 moved the functions below into libc.so.6
// under a new version; each is called by its first one, which every later release keeps. The linker
// (--wrap) sends the program's calls here.
// Source: release notes of glibc 2.34; "info as", directive .symver.
#include <pthread.h>

#if defined(__x86_64__)
#define KGPU_FIRST_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define KGPU_FIRST_VERSION "GLIBC_2.17"
#else
#error "name the first version of this machine's glibc"
#endif

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names.
extern "C" {

using Init = void (*)(int argc, char** argv, char** environment);
using Main = int (*)(int argc, char** argv, char** environment);

extern Init __init_array_start[];
extern Init __init_array_end[];

void* FirstDlopen(const char* file, int mode);
__asm__(".symver FirstDlopen,dlopen@" KGPU_FIRST_VERSION);
void* __wrap_dlopen(const char* file, int mode);
void* __wrap_dlopen(const char* file, int mode) {
  return FirstDlopen(file, mode);
}

void* FirstDlsym(void* library, const char* name);
__asm__(".symver FirstDlsym,dlsym@" KGPU_FIRST_VERSION);
void* __wrap_dlsym(void* library, const char* name);
void* __wrap_dlsym(void* library, const char* name) {
  return FirstDlsym(library, name);
}

char* FirstDlerror();
__asm__(".symver FirstDlerror,dlerror@" KGPU_FIRST_VERSION);
char* __wrap_dlerror();
char* __wrap_dlerror() {
  return FirstDlerror();
}

int FirstPthreadCreate(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                       void* argument);
__asm__(".symver FirstPthreadCreate,pthread_create@" KGPU_FIRST_VERSION);
int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                          void* argument);
int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                          void* argument) {
  return FirstPthreadCreate(thread, attributes, run, argument);
}

// Until 2.34 the program itself called its constructors: the start files of then brought the
// function along that is passed as `init`. Releases since call the one that they are given.
int FirstStartMain(Main main, int argc, char** argv, Init init, void (*fini)(), void (*rtld_fini)(),
                   void* stack_end);
__asm__(".symver FirstStartMain,__libc_start_main@" KGPU_FIRST_VERSION);

static void RunConstructors(int argc, char** argv, char** environment) {
  for (Init* init = __init_array_start; init != __init_array_end; ++init) {
    (*init)(argc, argv, environment);
  }
}

int __wrap___libc_start_main(Main main, int argc, char** argv, Init init, void (*fini)(),
                             void (*rtld_fini)(), void* stack_end);
int __wrap___libc_start_main(Main main, int argc, char** argv, Init /*init*/, void (*fini)(),
                             void (*rtld_fini)(), void* stack_end) {
  return FirstStartMain(main, argc, argv, &RunConstructors, fini, rtld_fini, stack_end);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
