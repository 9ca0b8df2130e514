#include "src/preload/system.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "src/preload/text.h"

namespace kgpu::preload {
namespace {

// Of Linux 3.15 and 4.14: newer than the headers of old build hosts.
constexpr int kOfdGetLock = 36;
constexpr int kOfdSetLock = 37;
constexpr int kWipeOnFork = 18;
constexpr int kPopulateRead = 22;  // of Linux 5.14
constexpr size_t kHugePage = 2 << 20;
constexpr size_t kMaxMapsSize = 16 << 20;  // bytes of /proc/PID/maps that are looked at

constexpr uint64_t kSecond = 1'000'000'000;  // nanoseconds

uint64_t ReadClock(clockid_t clock) {
  timespec now{};
  (void)clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecond + static_cast<uint64_t>(now.tv_nsec);
}

struct flock RangeLock(short type, const FileRange& range) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(range.start);
  lock.l_len = static_cast<off_t>(range.size);
  return lock;
}

struct flock ByteLock(short type, uint64_t offset) {
  return RangeLock(type, {.start = offset, .size = 1});
}

Line ProcPath(int32_t pid, const char* name) {
  Line path;
  path.Add("/proc/").Add(static_cast<uint64_t>(pid)).Add("/").Add(name);
  return path;
}

// Finds the inode, the fifth field, in lines that come in pieces.
class MapsReader {
 public:
  explicit MapsReader(uint64_t inode) : inode_(inode) {}
  // Returns whether the line that ends here has the inode.
  bool Take(char letter) {
    if (letter == '\n') {
      field_ = 0;
      value_ = 0;
      is_between_ = false;
      return false;
    }
    if (letter == ' ') {
      const bool is_found = field_ == 4 && !is_between_ && value_ == inode_;
      field_ += is_between_ ? 0 : 1;
      is_between_ = true;
      return is_found;
    }
    is_between_ = false;
    if (field_ == 4 && letter >= '0' && letter <= '9') {
      value_ = value_ * 10 + static_cast<uint64_t>(letter - '0');
    }
    return false;
  }

 private:
  uint64_t inode_;
  uint64_t value_ = 0;
  int field_ = 0;
  bool is_between_ = false;
};

}  // namespace

int OpenFile(const char* path, int flags) {
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0));
}

void CloseFile(int descriptor) {
  if (descriptor >= 0) {
    syscall(SYS_close, descriptor);
  }
}

int64_t ReadSome(int descriptor, char* text, size_t size) {
  int64_t got = -1;
  do {
    got = syscall(SYS_read, descriptor, text, size);
  } while (got < 0 && errno == EINTR);
  return got;
}

int64_t ReadFile(const char* path, char* text, size_t size) {
  const int descriptor = OpenFile(path, O_RDONLY);
  if (descriptor < 0) {
    return -1;
  }
  size_t have = 0;
  int64_t got = 1;
  while (have < size && got > 0) {
    got = ReadSome(descriptor, text + have, size - have);
    have += got > 0 ? static_cast<size_t>(got) : 0;
  }
  CloseFile(descriptor);
  return got < 0 ? -1 : static_cast<int64_t>(have);
}

bool StatFile(int descriptor, FileFacts* facts) {
  struct stat found = {};
  if (syscall(SYS_fstat, descriptor, &found) != 0) {
    return false;
  }
  *facts = {.size = static_cast<uint64_t>(found.st_size), .inode = found.st_ino};
  return true;
}

void* MapMemory(size_t size, bool is_wiped_by_fork) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return nullptr;
  }
  if (size >= kHugePage) {
    (void)madvise(memory, size, MADV_HUGEPAGE);  // of help where it is allowed
  }
  if (is_wiped_by_fork && madvise(memory, size, kWipeOnFork) != 0) {
    UnmapMemory(memory, size);
    return nullptr;
  }
  return memory;
}

void UnmapMemory(void* memory, size_t size) {
  (void)munmap(memory, size);
}

bool MayRead(void* memory, size_t size) {
  const KeepErrno keep;
  return madvise(memory, size, kPopulateRead) == 0 || errno == EINVAL || errno == ENOMEM;
}

uint64_t Milliseconds() {
  timespec now{};
  (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1000000;
}

uint64_t Nanoseconds() {
  return ReadClock(CLOCK_MONOTONIC);
}

uint64_t DayNanoseconds() {
  return ReadClock(CLOCK_REALTIME);
}

void SleepNanoseconds(uint64_t nanoseconds) {
  timespec time{.tv_sec = static_cast<time_t>(nanoseconds / kSecond),
                .tv_nsec = static_cast<long>(nanoseconds % kSecond)};
  while (syscall(SYS_nanosleep, &time, &time) != 0 && errno == EINTR) {
  }
}

const void* MapFile(const char* path, size_t size) {
  const int descriptor = OpenFile(path, O_RDONLY);
  FileFacts facts{};
  void* memory = nullptr;
  if (descriptor >= 0 && StatFile(descriptor, &facts) && facts.size >= size) {
    memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
    memory = memory == MAP_FAILED ? nullptr : memory;
  }
  CloseFile(descriptor);
  return memory;
}

bool LockByte(int descriptor, uint64_t offset) {
  struct flock lock = ByteLock(F_WRLCK, offset);
  return syscall(SYS_fcntl, descriptor, kOfdSetLock, &lock) == 0;
}

void UnlockByte(int descriptor, uint64_t offset) {
  struct flock lock = ByteLock(F_UNLCK, offset);
  syscall(SYS_fcntl, descriptor, kOfdSetLock, &lock);
}

bool LockRange(int descriptor, const FileRange& range) {
  struct flock lock = RangeLock(F_RDLCK, range);
  return syscall(SYS_fcntl, descriptor, kOfdSetLock, &lock) == 0;
}

bool IsByteLocked(int descriptor, uint64_t offset) {
  struct flock lock = ByteLock(F_WRLCK, offset);
  return syscall(SYS_fcntl, descriptor, kOfdGetLock, &lock) == 0 && lock.l_type != F_UNLCK;
}

int32_t ThreadNumber() {
  return static_cast<int32_t>(syscall(SYS_gettid));
}

uint64_t StartTime(int32_t pid) {
  char text[1024];
  const Line path = pid == 0 ? Line().Add("/proc/self/stat") : ProcPath(pid, "stat");
  const int64_t size = ReadFile(path.text(), text, sizeof(text));
  // The second field is a name in brackets that may have anything in it, further brackets, too.
  int64_t at = size - 1;
  while (at >= 0 && text[at] != ')') {
    --at;
  }
  if (at < 0) {
    return 0;
  }
  int field = 2;
  uint64_t value = 0;
  for (; at < size && field <= 22; ++at) {
    if (text[at] == ' ') {
      ++field;
    } else if (field == 22 && text[at] >= '0' && text[at] <= '9') {
      value = value * 10 + static_cast<uint64_t>(text[at] - '0');
    }
  }
  return value;
}

uint64_t PidNamespace() {
  const int descriptor = OpenFile("/proc/self/ns/pid", O_RDONLY);
  FileFacts facts{};
  const bool is_known = descriptor >= 0 && StatFile(descriptor, &facts);
  CloseFile(descriptor);
  return is_known ? facts.inode : 0;
}

bool HasMapped(int32_t pid, uint64_t inode) {
  const int descriptor = OpenFile(ProcPath(pid, "maps").text(), O_RDONLY);
  if (descriptor < 0) {
    return false;
  }
  MapsReader reader(inode);
  char text[4096];
  bool is_found = false;
  int64_t got = 1;
  for (size_t seen = 0; seen < kMaxMapsSize && got > 0 && !is_found;) {
    got = ReadSome(descriptor, text, sizeof(text));
    for (int64_t at = 0; at < got && !is_found; ++at) {
      is_found = reader.Take(text[at]);
    }
    seen += got > 0 ? static_cast<size_t>(got) : 0;
  }
  CloseFile(descriptor);
  return is_found;
}

}  // namespace kgpu::preload
