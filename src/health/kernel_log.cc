#include "src/health/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "src/base/log.h"
#include "src/base/status_macros.h"

namespace kgpu::health {
namespace {

constexpr char kPath[] = "dev/kmsg";
// The kernel gives one record a read and refuses smaller buffers. Source: CONSOLE_EXT_LOG_MAX.
constexpr size_t kRecordSize = 8192;
// Of one turn of the loop, so that a storm does not keep others waiting.
constexpr int kReadsPerTurn = 256;
constexpr std::chrono::seconds kRetry{30};

}  // namespace

void KernelLog::Start() {
  if (is_started_) {
    return;
  }
  is_started_ = true;
  if (const Status status = Open(); !status.ok()) {
    Fail(status);
  }
}

void KernelLog::Stop() {
  is_started_ = false;
  loop_.CancelTimer(std::exchange(retry_, TimerId::kNone));
  Close();
  problem_.clear();
}

void KernelLog::Close() {
  loop_.Unwatch(std::exchange(watch_, WatchId::kNone));
  fd_.Reset();
  partial_.clear();
}

Status KernelLog::Open() {
  auto fd = host_.OpenFile(kPath, O_RDONLY | O_NONBLOCK);
  if (!fd.ok()) {
    return Annotate(fd.status(),
                    "XIDs come from the driver's library alone; mount the host's /dev/kmsg and "
                    "allow reading it");
  }
  fd_ = *std::move(fd);
  lseek(fd_.get(), 0, SEEK_END);  // a pipe has no end to go to
  ASSIGN_OR_RETURN(watch_, loop_.WatchReadable(fd_.get(), [this] { Read(); }));
  problem_.clear();
  if (!std::exchange(logged_, {}).empty()) {
    KGPU_LOG(kInfo, "the kernel's log is read again");
  }
  return OkStatus();
}

void KernelLog::Fail(const Status& status) {
  Close();
  problem_ = Message(status);
  if (problem_ != logged_) {
    KGPU_LOG(kInfo, "the kernel's log is not read", {"reason", problem_});
    logged_ = problem_;
  }
  retry_ = loop_.After(kRetry, [this] {
    retry_ = TimerId::kNone;
    if (const Status again = Open(); !again.ok()) {
      Fail(again);
    }
  });
}

void KernelLog::Read() {
  std::array<char, kRecordSize> buffer{};
  for (int i = 0; i < kReadsPerTurn && fd_.is_valid(); ++i) {
    const ssize_t size = read(fd_.get(), buffer.data(), buffer.size());
    if (size > 0) {
      Take({buffer.data(), static_cast<size_t>(size)});
    } else if (size == 0) {
      return Fail(Unavailable("{}: nobody writes to it", host_.At(kPath)));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR && errno != EPIPE) {  // EPIPE: records were lost; the next is read
      return Fail(ErrnoStatus(errno, host_.At(kPath)));
    }
  }
}

// A record is one read of the device; a pipe gives many, and parts of them.
void KernelLog::Take(std::string_view bytes) {
  while (is_started_ && !bytes.empty()) {
    const size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      if (partial_.size() + bytes.size() <= kRecordSize) {
        partial_ += bytes;
      }
      return;
    }
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    std::string whole;
    if (!partial_.empty()) {
      whole = std::exchange(partial_, {});
      whole += line;
      line = whole;
    }
    const auto message = KernelMessage(line);
    const auto fault = message ? ParseKernelMessage(*message) : std::nullopt;
    if (fault) {
      listener_(*fault);
    }
  }
}

}  // namespace kgpu::health
