// kgpu-cuda: the one process that loads libcuda.so.1. Started by kgpu, not by people.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/diagnose/validate/child/run.h"
#include "src/diagnose/validate/protocol.h"

namespace {

constexpr char kUsage[] =
    "usage: kgpu-cuda --cuda-library FILE [--preload FILE] [--copy-bytes N] [--burn-ms N] <PTX\n"
    "Runs a CUDA test for kgpu. Do not run it directly; use `kgpu validate`.\n";

bool ParseNumber(const char* text, uint64_t* value) {
  char* end = nullptr;
  *value = strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == '\0';
}

bool Parse(int argc, char** argv, kgpu::validate::child::Job* job) {
  for (int i = 1; i < argc; i += 2) {
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--cuda-library") == 0) {
      job->library = value;
    } else if (strcmp(argv[i], "--preload") == 0 &&
               job->preload_count < kgpu::validate::child::kMaxPreloads) {
      job->preloads[job->preload_count++] = value;
    } else if (!(strcmp(argv[i], "--copy-bytes") == 0 && ParseNumber(value, &job->copy_bytes)) &&
               !(strcmp(argv[i], "--burn-ms") == 0 && ParseNumber(value, &job->burn_ms))) {
      return false;
    }
  }
  return job->library != nullptr && *job->library != '\0';
}

// Reads all of standard input and adds a zero; false if it is too long.
bool ReadInput(char* text, size_t size) {
  size_t done = 0;
  for (ssize_t got = 1; got > 0 && done < size; done += static_cast<size_t>(got > 0 ? got : 0)) {
    got = read(STDIN_FILENO, text + done, size - done);
  }
  text[done < size ? done : 0] = '\0';
  return done > 0 && done < size;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    return puts("kgpu-cuda " KGPU_VERSION) < 0 ? 1 : 0;
  }
  // Sent first, so that a kgpu of another release learns the version, whatever it asks for.
  constexpr char kHello[] = "hello " KGPU_VERSION "\n";
  (void)!write(STDOUT_FILENO, kHello, sizeof(kHello) - 1);
  kgpu::validate::child::Job job;
  char* ptx = static_cast<char*>(malloc(kgpu::validate::kMaxPtx));
  if (ptx == nullptr || !Parse(argc, argv, &job) || !ReadInput(ptx, kgpu::validate::kMaxPtx)) {
    (void)fputs(kUsage, stderr);
    free(ptx);
    return 2;
  }
  // A thread that hangs in the driver would not see that the parent is gone.
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  job.ptx = ptx;
  // Not exit(): handlers of the driver's library may hang.
  _exit(kgpu::validate::child::Run(job));
}
