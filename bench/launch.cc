// Runs a program with its output thrown away and writes what it cost to standard output: exit code
// and peak resident KiB (32 bit each), nanoseconds and those on a CPU (64 bit each). Small and
// static, since the kernel counts the parent's memory before exec into the child's peak.
//   launch PROGRAM [ARGUMENT …]
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>

namespace {

int64_t Now() {
  timespec now{};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

int64_t Nanoseconds(const timeval& time) {
  return time.tv_sec * 1'000'000'000LL + time.tv_usec * 1'000LL;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    return 2;
  }
  posix_spawn_file_actions_t silent;
  if (posix_spawn_file_actions_init(&silent) != 0 ||
      posix_spawn_file_actions_addopen(&silent, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) != 0) {
    return 1;
  }
  const int64_t start = Now();
  pid_t pid = -1;
  if (posix_spawn(&pid, argv[1], &silent, nullptr, argv + 1, environ) != 0) {
    return 127;
  }
  int status = 0;
  rusage usage{};
  if (wait4(pid, &status, 0, &usage) != pid) {
    return 1;
  }
  const struct {
    int32_t code;
    int32_t peak_kib;
    int64_t nanoseconds;
    int64_t cpu_nanoseconds;
  } report = {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
              static_cast<int32_t>(usage.ru_maxrss), Now() - start,
              Nanoseconds(usage.ru_utime) + Nanoseconds(usage.ru_stime)};
  return write(STDOUT_FILENO, &report, sizeof(report)) == sizeof(report) ? 0 : 1;
}
