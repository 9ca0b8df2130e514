// Loads the library named by argv[1] as an application does, by SONAME, and prints the file it came
// from. Exit codes: 0 loaded, 1 not found.
#include <dlfcn.h>
#include <link.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) {
    (void)std::fputs("usage: load-library SONAME\n", stderr);
    return 2;
  }
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == nullptr) {
    // One thread: dlerror's buffer is ours.
    (void)std::fprintf(stderr, "%s\n", dlerror());  // NOLINT(concurrency-mt-unsafe)
    return 1;
  }
  const link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) {
    return 1;
  }
  std::printf("%s\n", map->l_name);
  return 0;
}
