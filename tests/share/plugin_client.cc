// `plugin_client FILE deepbind|dlmopen 0|1`: loads the plug-in and prints what it got.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int /*argc*/, char** argv) {
  const std::string how = argv[2];
  void* plugin = how == "deepbind" ? dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND)
                                   : dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
  if (plugin == nullptr) {
    printf("not loaded\n");
    return 1;
  }
  auto* allocate = reinterpret_cast<int (*)(int)>(dlsym(plugin, "PluginAllocate"));
  printf("plugin %d\n", allocate(static_cast<int>(strtol(argv[3], nullptr, 10))));
  return 0;
}
