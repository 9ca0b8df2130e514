#include "testing/simhost/kernel_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include "src/gpu/nvml/abi.h"

namespace kgpu::simhost {
namespace {

using sim::kUnsupported;

// Room for a storm of XIDs while the reader is busy; what an unprivileged process may ask for.
constexpr int kPipeBytes = 1 << 20;
constexpr int kPriority = 4;  // warning

struct XidText {
  uint32_t xid;
  std::string_view text;
};
constexpr XidText kTexts[] = {
    {13, "Graphics SM Warp Exception on (GPC 0, TPC 0, SM 0): Out Of Range Address"},
    {31, "Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted"},
    {43, "Ch 00000008"},
    {45, "Ch 00000008"},
    {48, "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer"},
    {61, "0cec(3098) 00000000 00000000"},
    {62, "2027(2d5c) 00000000 00000000"},
    {63, "Row Remapper: New row marked for remapping, reset gpu to activate."},
    {64, "Row Remapper: Failed to remap a row"},
    {74, "NVLink: fatal error detected on link 0(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)"},
    {79, "GPU has fallen off the bus."},
    {94, "Contained: SM (0x1). RST: No, D-RST: No"},
    {95, "Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No"},
    {119, "Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected function 76"},
    {120, "GSP task timeout @ pc:0x0, partition:4#0, task:1"},
    {154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"},
};

std::string_view TextOf(uint64_t xid) {
  const auto* const found = std::ranges::find(kTexts, xid, &XidText::xid);
  return found == std::end(kTexts) ? std::string_view("Ch 00000000") : found->text;
}

uint64_t NowMicroseconds() {
  timespec now = {};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

std::string PlaceOfGpu(const sim::SimGpu& gpu) {
  return fmt::format("PCI:{:04x}:{:02x}:{:02x}", gpu.pci.domain, gpu.pci.bus, gpu.pci.device);
}

}  // namespace

std::string XidLine(const sim::SimGpu& gpu, const sim::SimEvent& event) {
  std::string instance;
  if (event.gpu_instance != kUnsupported) {
    instance = fmt::format(" GPU-I:{:02}", event.gpu_instance);
  }
  if (event.gpu_instance != kUnsupported && event.compute_instance != kUnsupported) {
    instance += fmt::format(" GPU-CI:{:02}", event.compute_instance);
  }
  return fmt::format("Xid ({}{}): {}, pid='<unknown>', name=<unknown>, {}", PlaceOfGpu(gpu),
                     instance, event.data, TextOf(event.data));
}

Status KernelLog::Make() {
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  (void)sigaction(SIGPIPE, &ignore, nullptr);
  struct stat info = {};
  if (lstat(path_.c_str(), &info) == 0 && S_ISFIFO(info.st_mode)) {
    return OkStatus();
  }
  if (mkfifo(path_.c_str(), 0644) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, "mkfifo " + path_);
  }
  return OkStatus();
}

// Only while somebody reads: what is written before is not kept for readers to come.
bool KernelLog::Open() {
  if (fd_.is_valid()) {
    return true;
  }
  fd_ = UniqueFd(open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  struct stat info = {};
  if (fd_.is_valid() && (fstat(fd_.get(), &info) != 0 || !S_ISFIFO(info.st_mode))) {
    fd_.Reset();
  }
  if (fd_.is_valid()) {
    (void)fcntl(fd_.get(), F_SETPIPE_SZ, kPipeBytes);
  }
  return fd_.is_valid();
}

void KernelLog::Write(std::string_view text) {
  const std::string record =
      fmt::format("{},{},{},-;NVRM: {}\n", kPriority, sequence_++, NowMicroseconds(), text);
  for (int attempt = 0; attempt < 2 && Open(); ++attempt) {
    // Less than PIPE_BUF: all of it or nothing.
    if (write(fd_.get(), record.data(), record.size()) >= 0 || errno != EPIPE) {
      return;
    }
    fd_.Reset();  // the reader has gone; another one may have come
  }
}

void KernelLog::Notify(const sim::SimState& before, const sim::SimState& now) {
  if (std::exchange(is_skipping_, false)) {
    return;
  }
  const uint64_t oldest = now.event_count > sim::kMaxEvents ? now.event_count - sim::kMaxEvents : 0;
  for (uint64_t number = std::max(before.event_count, oldest); number < now.event_count; ++number) {
    const sim::SimEvent& event = now.events[number % sim::kMaxEvents];
    if (event.type != nvml::kEventXidCritical || event.gpu >= now.gpu_count) {
      continue;
    }
    const sim::SimGpu& gpu = now.gpus[event.gpu];
    if (named_.insert(event.gpu).second) {
      Write(fmt::format("GPU at {}: {}", PlaceOfGpu(gpu), gpu.uuid));
    }
    Write(XidLine(gpu, event));
  }
}

}  // namespace kgpu::simhost
