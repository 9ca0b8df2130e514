#include "testing/driver/libnvidia_ml/location.h"

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "testing/driver/libnvidia_ml/session.h"

namespace kgpu::sim {
namespace {

bool Exists(const char* root, const char* relative) {
  char path[PATH_MAX];
  int length = snprintf(path, sizeof(path), "%s/%s", root, relative);
  return length > 0 && static_cast<size_t>(length) < sizeof(path) && access(path, F_OK) == 0;
}

// Cuts `path` back to the nearest parent that is a simulated host's root.
bool CutToRoot(char* path) {
  for (char* slash = strrchr(path, '/'); slash != nullptr; slash = strrchr(path, '/')) {
    *slash = '\0';
    if (Exists(path, kSocketPath) || Exists(path, kSocketPathVar)) {
      return true;
    }
  }
  return false;
}

struct OwnObject {
  char file[PATH_MAX];
};

// dl_iterate_phdr(3) instead of dladdr(3), whose name depends on the C library's age.
int FindOwn(dl_phdr_info* info, size_t, void* result) {
  auto here = reinterpret_cast<ElfW(Addr)>(&FindOwn);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    ElfW(Addr) start = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && here >= start && here - start < segment.p_memsz) {
      auto* own = static_cast<OwnObject*>(result);
      (void)snprintf(own->file, sizeof(own->file), "%s", info->dlpi_name);
      return 1;
    }
  }
  return 0;
}

// This library's file as the loader opened it.
bool OwnFile(OwnObject& own) {
  return dl_iterate_phdr(&FindOwn, &own) == 1 && own.file[0] != '\0';
}

// The file itself may be a link to somewhere outside of the host's root: then the folder counts.
bool OwnFolderFile(const char* file, char* path) {
  char folder[PATH_MAX];
  (void)snprintf(folder, sizeof(folder), "%s", file);
  char* slash = strrchr(folder, '/');
  if (slash == nullptr) {
    return false;
  }
  *slash = '\0';
  if (realpath(folder[0] == '\0' ? "/" : folder, path) == nullptr) {
    return false;
  }
  size_t length = strlen(path);
  return length + 2 < PATH_MAX && memcpy(path + length, "/.", 3) != nullptr;
}

}  // namespace

bool FindRoot(char* root) {
  OwnObject own{};
  if (!OwnFile(own)) {
    return false;
  }
  return (realpath(own.file, root) != nullptr && CutToRoot(root)) ||
         (OwnFolderFile(own.file, root) && CutToRoot(root));
}

void OwnVersion(char* version) {
  constexpr char kMiddle[] = ".so.";
  version[0] = '\0';
  OwnObject own{};
  char path[PATH_MAX];
  if (!OwnFile(own) || realpath(own.file, path) == nullptr) {
    return;
  }
  // The number in libnvidia-ml.so.535.104.05; the 1 of libnvidia-ml.so.1 does not count.
  const char* middle = strstr(strrchr(path, '/'), kMiddle);
  const char* found = middle == nullptr ? "" : middle + sizeof(kMiddle) - 1;
  if (strchr(found, '.') != nullptr) {
    (void)snprintf(version, 32, "%s", found);
  }
}

Node ProbeNode(const char* root, const char* relative, int flags, int* fd) {
  char path[PATH_MAX];
  int length = snprintf(path, sizeof(path), "%s/%s", root, relative);
  if (length < 0 || static_cast<size_t>(length) >= sizeof(path)) {
    return Node::kMissing;
  }
  int opened = open(path, flags | O_CLOEXEC | O_NONBLOCK);
  if (opened >= 0) {
    if (fd != nullptr) {
      *fd = opened;
    } else {
      close(opened);
    }
    return Node::kOpens;
  }
  switch (errno) {
    case EPERM:
    case EACCES:
      return Node::kForbidden;
    case ENXIO:
    case ENODEV:
      return Node::kOpens;
    default:
      return Node::kMissing;
  }
}

}  // namespace kgpu::sim
