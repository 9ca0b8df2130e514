// The few system calls that the library makes, by their numbers: names that glibc has given new
// versions would keep it from loading into older releases.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace kgpu::preload {

// Leaves errno as it was at the end of a block.
class KeepErrno {
 public:
  KeepErrno() : error_(errno) {}
  ~KeepErrno() { errno = error_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int error_;
};

// A close-on-exec descriptor, or -1.
int OpenFile(const char* path, int flags);
void CloseFile(int descriptor);
// Reads up to `size` bytes of the file; -1 if that fails.
int64_t ReadFile(const char* path, char* text, size_t size);
int64_t ReadSome(int descriptor, char* text, size_t size);
struct FileFacts {
  uint64_t size;
  uint64_t inode;
};
bool StatFile(int descriptor, FileFacts* facts);
// Zeroed memory of this process, or null; with `is_wiped_by_fork`, zeroed again in a child.
void* MapMemory(size_t size, bool is_wiped_by_fork);
void UnmapMemory(void* memory, size_t size);
// Whether the mapped memory can be read without a signal. True where the kernel cannot tell: before
// Linux 5.14.
bool MayRead(void* memory, size_t size);
// Milliseconds of a clock that only goes forward, exact to a tick of the kernel.
uint64_t Milliseconds();

// The same in nanoseconds, exact.
uint64_t Nanoseconds();
// Nanoseconds of the clock of the day, which all processes of the machine share.
uint64_t DayNanoseconds();
// Signals do not cut it short.
void SleepNanoseconds(uint64_t nanoseconds);
// The first `size` bytes of a file, for reading, as they change; null if it is shorter. Never
// unmapped.
const void* MapFile(const char* path, size_t size);

// An exclusive open-file-description lock on one byte. Returns whether we have it now.
bool LockByte(int descriptor, uint64_t offset);
void UnlockByte(int descriptor, uint64_t offset);
// The same for reading, on a range: others may have such locks, too.
struct FileRange {
  uint64_t start;
  uint64_t size;
};
bool LockRange(int descriptor, const FileRange& range);
// Whether somebody else holds a lock on the byte.
bool IsByteLocked(int descriptor, uint64_t offset);

// The number of this thread, as the kernel has it.
int32_t ThreadNumber();
// Ticks between the start of the machine and that of the process; 0 if there is none.
// Source: proc_pid_stat(5), field 22.
uint64_t StartTime(int32_t pid);
// The inode of this process's namespace of process numbers; 0 if /proc does not show it.
uint64_t PidNamespace();
// Whether the process maps a file with that inode. Source: proc_pid_maps(5).
bool HasMapped(int32_t pid, uint64_t inode);

}  // namespace kgpu::preload
