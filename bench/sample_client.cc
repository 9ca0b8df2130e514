// The driver calls of a sampling round, made by a program that does nothing else: no other process,
// no frames, no values. The floor for the CPU of a round. Prints the CPU time of each round in
// nanoseconds.
//   sample-client LIBRARY ROUNDS PAUSE_MS
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "src/gpu/nvml/library.h"
#include "src/gpu/probe/child/channel.h"
#include "src/gpu/probe/child/driver.h"
#include "src/gpu/probe/child/sampling.h"

namespace {

using namespace kgpu::probe;  // NOLINT(google-build-using-namespace): payloads of its protocol

long CpuNanoseconds() {
  timespec time = {};
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

void Round(child::Sampling& sampling, unsigned gpus) {
  for (unsigned gpu = 0; gpu < gpus; ++gpu) {
    SamplePayload sample = {};
    LinkSamplePayload links = {};
    ProcessPayload processes = {};
    (void)sampling.ReadGpu(gpu, &sample);
    (void)sampling.ReadNvLinks(gpu, &links);
    (void)sampling.ReadProcesses(gpu, 0, &processes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    return 2;
  }
  kgpu::nvml::Library library;
  int ends[2] = {};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return 1;
  }
  const child::Channel nowhere(ends[0]);  // a round that is slow says so to nobody
  child::Driver driver(library, nowhere);
  driver.BeginRequest(0);
  InitPayload init = {};
  DriverPayload facts = {};
  if (driver.Init(argv[1], &init) != kgpu::nvml::kSuccess ||
      driver.ReadDriver(&facts) != kgpu::nvml::kSuccess) {
    return 1;
  }
  child::Sampling sampling(driver);
  Round(sampling, facts.gpu_count);  // what never changes is read once
  const long pause_ns = std::strtol(argv[3], nullptr, 10) * 1'000'000;
  for (long left = std::strtol(argv[2], nullptr, 10); left > 0; --left) {
    const timespec pause = {.tv_sec = pause_ns / 1'000'000'000,
                            .tv_nsec = pause_ns % 1'000'000'000};
    (void)nanosleep(&pause, nullptr);
    driver.BeginRequest(0);
    const long begun = CpuNanoseconds();
    Round(sampling, facts.gpu_count);
    (void)std::printf("%ld\n", CpuNanoseconds() - begun);
  }
  return 0;
}
