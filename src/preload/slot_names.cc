#include "src/preload/slot_names.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/preload/system.h"
#include "src/preload/text.h"

namespace kgpu::preload {
namespace {

// What the kernel writes. Source: getdents64(2), struct linux_dirent64.
struct DirectoryEntry {
  uint64_t inode;
  int64_t offset;
  uint16_t size;
  uint8_t type;
  char name[];
};

// Less than 0 if `one` comes first.
int Compare(const char* one, const char* other) {
  while (*one != '\0' && *one == *other) {
    ++one;
    ++other;
  }
  return static_cast<unsigned char>(*one) - static_cast<unsigned char>(*other);
}

void Copy(const char* from, char* to) {
  do {
    *to++ = *from;
  } while (*from++ != '\0');
}

// Where it belongs among `count` sorted names.
void Insert(const char* name, char (*names)[kMaxSlotName], int count) {
  int at = count;
  for (; at > 0 && Compare(name, names[at - 1]) < 0; --at) {
    Copy(names[at - 1], names[at]);
  }
  Copy(name, names[at]);
}

}  // namespace

int ListSlots(const char* folder, char (*names)[kMaxSlotName]) {
  const int descriptor = OpenFile(folder, O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) {
    return -1;
  }
  alignas(DirectoryEntry) char buffer[4096];
  int count = 0;
  int64_t size = 0;
  while ((size = syscall(SYS_getdents64, descriptor, buffer, sizeof(buffer))) > 0) {
    for (int64_t at = 0; at < size && count <= static_cast<int>(kMaxSlots);) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(buffer + at);
      at += entry->size;
      if (entry->name[0] == '.' || Length(entry->name) >= kMaxSlotName) {
        continue;
      }
      if (count < static_cast<int>(kMaxSlots)) {
        Insert(entry->name, names, count);
      }
      ++count;
    }
  }
  CloseFile(descriptor);
  return size < 0 ? -1 : count;
}

}  // namespace kgpu::preload
