// A name and a size on an open file description, which whoever receives it can read: the only mark
// that goes with a descriptor of the driver from one process to another. All of them are of one
// device node, so that neither inode nor path tells one from the other.
#pragma once

#include <cstdint>

namespace kgpu::preload {

struct FileTag {
  uint64_t name;  // see MakeTagName
  uint64_t size;  // bytes, below 2^50
};

// A name that a tag can have.
uint64_t MakeTagName(uint64_t number);
// Locks a range of the file for reading: its start is the name, its length the size. The lock ends
// with the open file description, and nobody is kept from anything. Source: fcntl(2), F_OFD_SETLK.
bool TagFile(int descriptor, const FileTag& tag);
// False without a tag, with several, or without /proc. Source: proc_pid_fdinfo(5), "lock".
bool ReadFileTag(int descriptor, FileTag* tag);

}  // namespace kgpu::preload
