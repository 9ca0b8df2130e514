// What a hostile image has its loader load into every program: says so on standard output, and
// writes to the path it was given, which exists outside of the container only.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace {

__attribute__((constructor)) void OnLoad() {
  constexpr char kText[] = "hostile library loaded\n";
  [[maybe_unused]] ssize_t done = write(STDOUT_FILENO, kText, sizeof(kText) - 1);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread
  if (const char* path = getenv("KGPU_TEST_ESCAPE"); path != nullptr) {
    if (const int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600); fd >= 0) {
      done = write(fd, kText, sizeof(kText) - 1);
      close(fd);
    }
  }
}

}  // namespace
