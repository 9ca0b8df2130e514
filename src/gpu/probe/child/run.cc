#include "src/gpu/probe/child/run.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "src/gpu/nvml/library.h"
#include "src/gpu/probe/child/channel.h"
#include "src/gpu/probe/child/driver.h"
#include "src/gpu/probe/child/events.h"
#include "src/gpu/probe/child/partitions.h"
#include "src/gpu/probe/child/sampling.h"
#include "src/gpu/probe/protocol.h"

namespace kgpu::probe::child {
namespace {

union Payload {
  InitPayload init;
  DriverPayload driver;
  GpuPayload gpu;
  MigPayload mig;
  NvLinkPayload nvlink;
  TopologyPayload topology;
  WatchPayload watch;
  SamplePayload sample;
  LinkSamplePayload link_sample;
  ProcessPayload processes;
  MigSamplePayload mig_sample;
  MigProfilesPayload mig_profiles;
  MigInstancesPayload mig_instances;
  MigModePayload mig_mode;
  GpuInstancePayload gpu_instance;
  ComputeInstancePayload compute_instance;
};

struct ReplyFrame {
  ReplyHeader head;
  Payload payload;
};
static_assert(sizeof(ReplyFrame) <= kMaxFrameSize);

struct Answer {
  nvml::Return result;
  size_t payload_size;  // 0: nothing to tell but the result
};

// The payload of a request that failed as a whole is left out.
Answer WithPayload(nvml::Return result, size_t size) {
  return {result, result == nvml::kSuccess ? size : 0};
}

struct Server {
  const char* library_path;
  Driver& driver;
  Events& events;
  Sampling& sampling;
  Partitions& partitions;

  Answer Serve(const RequestFrame& request, Payload* payload);
  Answer Measure(const RequestFrame& request, Payload* payload);
  Answer Partition(const RequestFrame& request, Payload* payload);
};

Answer Server::Partition(const RequestFrame& request, Payload* payload) {
  switch (static_cast<Op>(request.op)) {
    case Op::kMigProfiles:
      return WithPayload(partitions.ReadProfiles(request.gpu, &payload->mig_profiles),
                         sizeof(MigProfilesPayload));
    case Op::kMigInstances:
      return WithPayload(partitions.ReadInstances(request.gpu, &payload->mig_instances),
                         sizeof(MigInstancesPayload));
    case Op::kMigSetMode:
      return WithPayload(partitions.SetMode(request.gpu, request.index != 0, &payload->mig_mode),
                         sizeof(MigModePayload));
    case Op::kMigCreateGpu:
      return WithPayload(partitions.CreateGpuInstance(request.gpu, MigPlace::Unpack(request.index),
                                                      &payload->gpu_instance),
                         sizeof(GpuInstancePayload));
    case Op::kMigDestroyGpu:
      return {partitions.DestroyGpuInstance(request.gpu, request.index), 0};
    case Op::kMigCreateCompute:
      return WithPayload(
          partitions.CreateComputeInstance(request.gpu, MigPart::Unpack(request.index),
                                           &payload->compute_instance),
          sizeof(ComputeInstancePayload));
    default:
      return {partitions.DestroyComputeInstance(request.gpu, MigPart::Unpack(request.index)), 0};
  }
}

Answer Server::Measure(const RequestFrame& request, Payload* payload) {
  switch (static_cast<Op>(request.op)) {
    case Op::kSampleGpu:
      return WithPayload(sampling.ReadGpu(request.gpu, &payload->sample), sizeof(SamplePayload));
    case Op::kSampleNvLinks:
      return WithPayload(sampling.ReadNvLinks(request.gpu, &payload->link_sample),
                         sizeof(LinkSamplePayload));
    case Op::kSampleProcesses:
      return WithPayload(sampling.ReadProcesses(request.gpu, request.index, &payload->processes),
                         sizeof(ProcessPayload));
    default:
      return WithPayload(sampling.ReadMigDevice(request.gpu, request.index, &payload->mig_sample),
                         sizeof(MigSamplePayload));
  }
}

Answer Server::Serve(const RequestFrame& request, Payload* payload) {
  switch (static_cast<Op>(request.op)) {
    case Op::kPing:
      return {nvml::kSuccess, 0};
    case Op::kInit:
      return {driver.Init(library_path, &payload->init), sizeof(InitPayload)};
    case Op::kDriverInfo:
      return WithPayload(driver.ReadDriver(&payload->driver), sizeof(DriverPayload));
    case Op::kGpu:
      return WithPayload(driver.ReadGpu(request.gpu, &payload->gpu), sizeof(GpuPayload));
    case Op::kMigDevice:
      return WithPayload(driver.ReadMigDevice(request.gpu, request.index, &payload->mig),
                         sizeof(MigPayload));
    case Op::kNvLinks:
      return WithPayload(driver.ReadNvLinks(request.gpu, &payload->nvlink), sizeof(NvLinkPayload));
    case Op::kTopology:
      return WithPayload(driver.ReadTopology(request.gpu, &payload->topology),
                         sizeof(TopologyPayload));
    case Op::kWatchEvents:
      return WithPayload(events.Watch(driver, request.gpu, &payload->watch), sizeof(WatchPayload));
    case Op::kStartEvents:
      return {events.Start(), 0};
    case Op::kShutdown:
      return {driver.Shutdown(), 0};
    case Op::kLeaveOut:
      return {driver.LeaveOut(request.gpu, request.index != 0), 0};
    case Op::kSampleGpu:
    case Op::kSampleNvLinks:
    case Op::kSampleProcesses:
    case Op::kSampleMig:
      return Measure(request, payload);
    case Op::kMigProfiles:
    case Op::kMigInstances:
    case Op::kMigSetMode:
    case Op::kMigCreateGpu:
    case Op::kMigDestroyGpu:
    case Op::kMigCreateCompute:
    case Op::kMigDestroyCompute:
      return Partition(request, payload);
  }
  return {nvml::kErrorInvalidArgument, 0};
}

void SendHello(const Channel& channel, const char* build) {
  HelloFrame hello{};
  hello.pid = static_cast<uint32_t>(getpid());
  strncpy(hello.build, build, sizeof(hello.build) - 1);
  channel.Send(&hello, sizeof(hello), FrameKind::kHello, 0);
}

// Processes that the library has started must not outlive us.
void KillOwnGroup() {
  if (getpgrp() == getpid()) {
    (void)kill(0, SIGKILL);
  }
}

void OnParentDeath(int) {
  KillOwnGroup();
  _exit(0);
}

// The end of the parent is the end of the socket, but a main thread that hangs in the driver would
// not see it.
void EndWithParent() {
  struct sigaction action = {};
  action.sa_handler = &OnParentDeath;
  (void)sigaction(SIGTERM, &action, nullptr);
  (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
}

}  // namespace

int Run(int fd, const char* library_path, const char* build) {
  EndWithParent();
  const Channel channel(fd);
  nvml::Library library;
  Driver driver(library, channel);
  Events events(library, channel);
  Sampling sampling(driver);
  Partitions partitions(driver);
  Server server{.library_path = library_path,
                .driver = driver,
                .events = events,
                .sampling = sampling,
                .partitions = partitions};
  SendHello(channel, build);
  RequestFrame request{};
  while (channel.Receive(&request)) {
    ReplyFrame reply;
    memset(&reply, 0, sizeof(reply));
    driver.BeginRequest(request.header.id);
    const Answer answer = server.Serve(request, &reply.payload);
    reply.head.op = request.op;
    reply.head.result = answer.result;
    reply.head.payload_size = static_cast<uint32_t>(answer.payload_size);
    channel.Send(&reply, sizeof(reply.head) + answer.payload_size, FrameKind::kReply,
                 request.header.id);
    if (static_cast<Op>(request.op) == Op::kShutdown) {
      break;
    }
  }
  KillOwnGroup();
  // Not exit(): handlers of the driver's library may hang.
  _exit(0);
}

}  // namespace kgpu::probe::child
