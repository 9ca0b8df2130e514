// A small libnvidia-ml.so.1 for tests, controlled while it runs by the file named in the
// environment variable FAKE_NVML: lines of words.
//   gpus N          how many GPUs there are (default 2)
//   counts_once     GPUs that come after nvmlInit are not counted, nor those that come back
//   init CODE       what nvmlInit returns
//   hold_init FILE  nvmlInit removes the file once it has counted, and waits until it is back
//   count CODE      what nvmlDeviceGetCount returns
//   lost I          GPU I answers GPU_IS_LOST to everything but its handle
//   unlisted I      the handle of GPU I is GPU_IS_LOST
//   hang NAME       the function never returns        slow MS    every function takes that long
//   hang_gpu I      no function about GPU I but that for its handle returns
//   crash NAME      the function ends the process by a signal
//   crash_with FILE nvmlDeviceGetName does so if it can remove the file: once
//   noise N         nvmlInit prints N long lines to stderr
//   forks FILE      nvmlInit starts a process that never ends, and writes its pid to the file
//   only_basic      all but handle and UUID are NOT_SUPPORTED
//   garbage         texts without end, numbers out of range
//   mig I           GPU I has MIG enabled and two MIG devices
//   xid I CODE SEQ  an XID of GPU I, delivered once for each new SEQ
//   processes N     every GPU has N processes, pids from 1000 (default 0); those with an even pid
//   work gpm             GPM metrics; there are six samples to be had
// Compiled with FAKE_NVML_V1 it has the names of an old driver only.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/gpu/nvml/sample_abi.h"

namespace {

using namespace kgpu::nvml;  // NOLINT(google-build-using-namespace): a stand-in for that library

constexpr int kMaxGpus = 16;

// A C library has state of its own. Handles only have to differ and not be null: the address of a
// slot.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): see above
char gpu_slots[kMaxGpus];
char mig_slots[kMaxGpus][2];
char set_slot;
unsigned last_seq = 0;
unsigned counted = 0;
[[maybe_unused]] char gpm_slots[6];
[[maybe_unused]] bool gpm_used[6];
[[maybe_unused]] uint64_t utilization_us = 0;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

Device HandleOf(unsigned gpu) {
  return reinterpret_cast<Device>(&gpu_slots[gpu]);
}
unsigned IndexOf(Device device) {
  const char* slot = reinterpret_cast<const char*>(device);
  if (slot >= &mig_slots[0][0] && slot < &mig_slots[0][0] + sizeof(mig_slots)) {
    return static_cast<unsigned>(slot - &mig_slots[0][0]) / 2;
  }
  return static_cast<unsigned>(slot - gpu_slots);
}
bool IsMig(Device device) {
  const char* slot = reinterpret_cast<const char*>(device);
  return slot >= &mig_slots[0][0] && slot < &mig_slots[0][0] + sizeof(mig_slots);
}
unsigned MigIndexOf(Device device) {
  return static_cast<unsigned>(reinterpret_cast<const char*>(device) - &mig_slots[0][0]) % 2;
}

struct Line {
  char words[4][64];
  unsigned number(int word) const {
    return static_cast<unsigned>(strtoul(words[word], nullptr, 10));
  }
};

// Calls `use` for each line of the control file that begins with `key`.
template <typename Use>
void ForLines(const char* key, Use use) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody in the probe sets variables
  const char* path = getenv("FAKE_NVML");
  FILE* file = path == nullptr ? nullptr : fopen(path, "re");
  if (file == nullptr) {
    return;
  }
  char text[256];
  while (fgets(text, sizeof(text), file) != nullptr) {
    Line line{};
    (void)sscanf(text, "%63s %63s %63s %63s", line.words[0], line.words[1], line.words[2],
                 line.words[3]);
    if (strcmp(line.words[0], key) == 0) {
      use(line);
    }
  }
  (void)fclose(file);
}

bool Has(const char* key) {
  bool found = false;
  ForLines(key, [&](const Line&) { found = true; });
  return found;
}
unsigned Number(const char* key, unsigned otherwise) {
  ForLines(key, [&](const Line& line) { otherwise = line.number(1); });
  return otherwise;
}
bool Names(const char* key, const char* word) {
  bool found = false;
  ForLines(key, [&](const Line& line) { found = found || strcmp(line.words[1], word) == 0; });
  return found;
}
bool NamesGpu(const char* key, unsigned gpu) {
  bool found = false;
  ForLines(key, [&](const Line& line) { found = found || line.number(1) == gpu; });
  return found;
}

void Enter(const char* name) {
  if (const unsigned ms = Number("slow", 0); ms > 0) {
    (void)usleep(ms * 1000);
  }
  while (Names("hang", name)) {
    (void)pause();
  }
  bool is_crash = Names("crash", name);
  if (strcmp(name, "nvmlDeviceGetName") == 0) {
    ForLines("crash_with", [&](const Line& line) { is_crash |= unlink(line.words[1]) == 0; });
  }
  if (is_crash) {
    (void)raise(SIGKILL);
  }
}

Return DeviceCall(const char* name, Device device, bool is_basic = false) {
  Enter(name);
  while (NamesGpu("hang_gpu", IndexOf(device))) {
    (void)pause();
  }
  if (NamesGpu("lost", IndexOf(device))) {
    return kErrorGpuIsLost;
  }
  return Has("only_basic") && !is_basic ? kErrorNotSupported : kSuccess;
}

Return Text(char* target, uint32_t length, const char* text) {
  if (Has("garbage")) {
    memset(target, 0xfe, length);
  } else {
    (void)snprintf(target, length, "%s", text);
  }
  return kSuccess;
}

Return Pci(Device device, PciInfoV2* info) {
  const Return result = DeviceCall("nvmlDeviceGetPciInfo", device, true);
  info->domain = 0;
  info->bus = Has("garbage") ? 0xffffffffU : IndexOf(device) + 1;
  info->device = 0;
  info->pci_device_id = 0x20b210deU;
  return result;
}

}  // namespace

#ifdef FAKE_NVML_V1
#define NEWEST(name, suffix) name
#else
#define NEWEST(name, suffix) name##suffix
#endif

#pragma GCC visibility push(default)
extern "C" {

Return NEWEST(nvmlInit, _v2)() {
  Enter("nvmlInit");
  counted = Number("gpus", 2);
  for (unsigned i = 0; i < Number("noise", 0); ++i) {
    (void)fprintf(stderr, "noise %u %01000u\n", i, 0U);
  }
  ForLines("forks", [](const Line& line) {
    const pid_t pid = fork();
    while (pid == 0) {
      (void)pause();
    }
    if (FILE* file = fopen(line.words[1], "we"); file != nullptr) {
      (void)fprintf(file, "%d\n", pid);
      (void)fclose(file);
    }
  });
  ForLines("hold_init", [](const Line& line) {
    if (unlink(line.words[1]) == 0) {
      while (access(line.words[1], F_OK) != 0) {
        (void)usleep(1000);
      }
    }
  });
  return static_cast<Return>(Number("init", kSuccess));
}
Return nvmlShutdown() {
  Enter("nvmlShutdown");
  return kSuccess;
}
Return nvmlSystemGetDriverVersion(char* text, uint32_t length) {
  Enter("nvmlSystemGetDriverVersion");
  return Text(text, length, "535.104.05");
}
Return nvmlSystemGetNVMLVersion(char* text, uint32_t length) {
  return Text(text, length, "12.535.104.05");
}
Return NEWEST(nvmlSystemGetCudaDriverVersion, _v2)(int32_t* version) {
  *version = 12020;
  return kSuccess;
}
Return NEWEST(nvmlDeviceGetCount, _v2)(uint32_t* count) {
  Enter("nvmlDeviceGetCount");
  *count = Number("gpus", 2);
  if (Has("counts_once")) {
    counted = *count < counted ? *count : counted;
    *count = counted;
  }
  return static_cast<Return>(Number("count", kSuccess));
}
Return NEWEST(nvmlDeviceGetHandleByIndex, _v2)(uint32_t index, Device* device) {
  Enter("nvmlDeviceGetHandleByIndex");
  if (NamesGpu("unlisted", index)) {
    return kErrorGpuIsLost;
  }
  *device = HandleOf(index % kMaxGpus);
  return kSuccess;
}
Return nvmlDeviceGetUUID(Device device, char* text, uint32_t length) {
  const Return result = DeviceCall("nvmlDeviceGetUUID", device, true);
  char uuid[64];
  (void)snprintf(uuid, sizeof(uuid), "%s-00000000-0000-0000-%04x-00000000000%x",
                 IsMig(device) ? "MIG" : "GPU", IsMig(device) ? MigIndexOf(device) + 1 : 0,
                 IndexOf(device));
  (void)Text(text, length, uuid);
  return result;
}
Return nvmlDeviceGetName(Device device, char* text, uint32_t length) {
  const Return result = DeviceCall("nvmlDeviceGetName", device);
  (void)Text(text, length,
             IsMig(device) ? "NVIDIA A100-SXM4-80GB MIG 1g.10gb" : "NVIDIA A100-SXM4-80GB");
  return result;
}
Return nvmlDeviceGetMinorNumber(Device device, uint32_t* minor) {
  *minor = IndexOf(device);
  return DeviceCall("nvmlDeviceGetMinorNumber", device, true);
}
Return nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  memory->total = 80ULL << 30;
  return DeviceCall("nvmlDeviceGetMemoryInfo", device);
}
Return nvmlDeviceGetCudaComputeCapability(Device device, int32_t* major, int32_t* minor) {
  *major = 8;
  *minor = 0;
  return DeviceCall("nvmlDeviceGetCudaComputeCapability", device);
}
Return nvmlDeviceGetUtilizationRates(Device device, Utilization* rates) {
  *rates = {.gpu = Has("garbage") ? 4711U : 42U, .memory = 7};
  return DeviceCall("nvmlDeviceGetUtilizationRates", device);
}
Return nvmlDeviceGetPowerUsage(Device device, uint32_t* milliwatts) {
  *milliwatts = 123456;
  return DeviceCall("nvmlDeviceGetPowerUsage", device);
}
Return nvmlEventSetCreate(EventSet* set) {
  *set = reinterpret_cast<EventSet>(&set_slot);
  return kSuccess;
}
Return nvmlDeviceRegisterEvents(Device device, uint64_t, EventSet) {
  return DeviceCall("nvmlDeviceRegisterEvents", device);
}
Return NEWEST(nvmlEventSetWait, _v2)(EventSet, EventData* event, uint32_t timeout_ms) {
  for (uint32_t waited = 0; waited < timeout_ms; ++waited) {
    bool found = false;
    ForLines("xid", [&](const Line& line) {
      if (!found && line.number(3) > last_seq) {
        found = true;
        last_seq = line.number(3);
        event->device = HandleOf(line.number(1));
        event->event_type = kEventXidCritical;
        event->event_data = line.number(2);
      }
    });
    if (found) {
      return kSuccess;
    }
    (void)usleep(1000);
  }
  return kErrorTimeout;
}

#ifdef FAKE_NVML_V1
Return nvmlDeviceGetComputeRunningProcesses(Device device, uint32_t* count, ProcessInfoV1* infos) {
  infos[0] = {.pid = 1000, .used_gpu_memory = 1U << 20};
  *count = 1;
  return DeviceCall("nvmlDeviceGetComputeRunningProcesses", device);
}
Return nvmlDeviceGetPciInfo(Device device, PciInfoV2* info) {
  return Pci(device, info);
}
#else
Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* info) {
  PciInfoV2 older{};
  const Return result = Pci(device, &older);
  info->domain = older.domain;
  info->bus = older.bus;
  info->device = older.device;
  info->pci_device_id = older.pci_device_id;
  return result;
}
Return nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* memory) {
  if (memory->version != kMemoryV2Version) {
    return kErrorArgumentVersionMismatch;
  }
  memory->total = 80ULL << 30;
  return DeviceCall("nvmlDeviceGetMemoryInfo", device);
}
Return nvmlDeviceGetSerial(Device device, char* text, uint32_t length) {
  const Return result = DeviceCall("nvmlDeviceGetSerial", device);
  (void)Text(text, length, "1320021012345");
  return result;
}
Return nvmlDeviceGetArchitecture(Device device, uint32_t* architecture) {
  *architecture = kArchAmpere;
  return DeviceCall("nvmlDeviceGetArchitecture", device);
}
Return nvmlDeviceGetBrand(Device device, Brand* brand) {
  *brand = kBrandNvidia;
  return DeviceCall("nvmlDeviceGetBrand", device);
}
Return nvmlDeviceGetMigMode(Device device, uint32_t* current, uint32_t* pending) {
  *current = NamesGpu("mig", IndexOf(device)) ? 1 : 0;
  *pending = *current;
  return DeviceCall("nvmlDeviceGetMigMode", device);
}
Return nvmlDeviceGetMaxMigDeviceCount(Device device, uint32_t* count) {
  *count = Has("garbage") ? 0xffffffffU : 7;
  return DeviceCall("nvmlDeviceGetMaxMigDeviceCount", device);
}
Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, uint32_t index, Device* mig) {
  if (index >= 2) {
    return kErrorNotFound;
  }
  *mig = reinterpret_cast<Device>(&mig_slots[IndexOf(device)][index]);
  return kSuccess;
}
Return nvmlDeviceGetGpuInstanceId(Device device, uint32_t* id) {
  *id = 7 + MigIndexOf(device);
  return kSuccess;
}
Return nvmlDeviceGetComputeInstanceId(Device, uint32_t* id) {
  *id = 0;
  return kSuccess;
}
Return nvmlDeviceGetAttributes_v2(Device, DeviceAttributes* attributes) {
  attributes->multiprocessor_count = 14;
  attributes->gpu_instance_slice_count = 1;
  attributes->compute_instance_slice_count = 1;
  attributes->memory_size_mb = 9856;
  return kSuccess;
}
Return nvmlDeviceGetNvLinkState(Device device, uint32_t link, EnableState* state) {
  *state = kFeatureEnabled;
  const Return result = DeviceCall("nvmlDeviceGetNvLinkState", device);
  return result == kSuccess && link >= 12 ? kErrorInvalidArgument : result;
}
Return nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, uint32_t, PciInfo* info) {
  info->bus = IndexOf(device) == 0 ? 2 : 1;
  return DeviceCall("nvmlDeviceGetNvLinkRemotePciInfo", device);
}
Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, uint32_t* count, ProcessInfo* infos) {
  const uint32_t wanted = Number("processes", 0);
  const bool has_place = wanted <= *count;
  *count = wanted;
  for (uint32_t i = 0; has_place && i < wanted; ++i) {
    infos[i] = {.pid = 1000 + i,
                .used_gpu_memory = i == 1 ? kValueNotAvailable : uint64_t{i} << 20,
                .gpu_instance_id = kNoInstance,
                .compute_instance_id = kNoInstance};
  }
  return has_place ? DeviceCall("nvmlDeviceGetComputeRunningProcesses", device)
                   : kErrorInsufficientSize;
}
// Samples of a moment ago are reported once.
Return nvmlDeviceGetProcessUtilization(Device device, ProcessUtilizationSample* samples,
                                       uint32_t* count, uint64_t last_seen_us) {
  const uint32_t wanted = Number("processes", 0);
  utilization_us = utilization_us == 0 ? 1'000'000 : utilization_us;
  if (last_seen_us >= utilization_us || wanted > *count) {
    return kErrorNotFound;
  }
  *count = 0;
  for (uint32_t i = 0; i < wanted; i += 2) {
    samples[(*count)++] = {.pid = 1000 + i,
                           .timestamp_us = utilization_us,
                           .sm = 30,
                           .memory = 20,
                           .encoder = 0,
                           .decoder = 200};
  }
  return DeviceCall("nvmlDeviceGetProcessUtilization", device);
}
Return nvmlGpmQueryDeviceSupport(Device, GpmSupport* support) {
  support->is_supported = Has("gpm") ? 1 : 0;
  return support->version == kGpmSupportVersion ? kSuccess : kErrorArgumentVersionMismatch;
}
Return nvmlGpmSampleAlloc(GpmSample* sample) {
  for (unsigned i = 0; i < sizeof(gpm_slots); ++i) {
    if (!gpm_used[i]) {
      gpm_used[i] = true;
      *sample = reinterpret_cast<GpmSample>(&gpm_slots[i]);
      return kSuccess;
    }
  }
  return kErrorInsufficientResources;
}
Return nvmlGpmSampleFree(GpmSample sample) {
  gpm_used[reinterpret_cast<char*>(sample) - gpm_slots] = false;
  return kSuccess;
}
Return nvmlGpmSampleGet(Device device, GpmSample) {
  return DeviceCall("nvmlGpmSampleGet", device);
}
Return nvmlGpmMigSampleGet(Device device, uint32_t, GpmSample) {
  return DeviceCall("nvmlGpmMigSampleGet", device);
}
Return nvmlGpmMetricsGet(GpmMetrics* metrics) {
  if (metrics->version != kGpmMetricsVersion || metrics->older == metrics->newer) {
    return kErrorInvalidArgument;
  }
  for (uint32_t i = 0; i < metrics->count; ++i) {
    metrics->metrics[i].value = metrics->metrics[i].id;
    metrics->metrics[i].nvml_return =
        metrics->metrics[i].id == kGpmFp64Util ? kErrorNotSupported : kSuccess;
  }
  return kSuccess;
}
Return nvmlDeviceGetTopologyCommonAncestor(Device device, Device, TopologyLevel* level) {
  // NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): garbage is the point
  *level = Has("garbage") ? static_cast<TopologyLevel>(33) : kTopologyNode;
  return DeviceCall("nvmlDeviceGetTopologyCommonAncestor", device);
}
Return nvmlDeviceGetSupportedEventTypes(Device device, uint64_t* types) {
  *types = kEventXidCritical | kEventDoubleBitEcc;
  return DeviceCall("nvmlDeviceGetSupportedEventTypes", device);
}
#endif

}  // extern "C"
#pragma GCC visibility pop
