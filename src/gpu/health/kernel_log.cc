#include "src/gpu/health/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::health {
namespace {

constexpr char kPath[] = "dev/kmsg";
// The kernel gives one record a read and refuses smaller buffers. Source: CONSOLE_EXT_LOG_MAX.
constexpr size_t kRecordSize = 8192;
// Limit for one turn of the loop, so that neither a storm nor thousands of old records at start
// keep the kubelet waiting.
constexpr int kReadsPerTurn = 32;
constexpr std::chrono::seconds kRetry{30};
// More than the log holds; what comes faster than it can be skipped is new.
constexpr size_t kMostSkipped = 100'000;

}  // namespace

void KernelLog::Start(std::optional<uint64_t> after) {
  if (is_started_) {
    return;
  }
  is_started_ = true;
  position_ = after;
  if (const Status status = Open(); !status.ok()) {
    Fail(status);
  }
}

void KernelLog::Stop() {
  is_started_ = false;
  retry_.Cancel();
  Close();
  problem_.clear();
  position_.reset();
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
                    "XIDs are read only from the driver's library: mount the host's /dev/kmsg and "
                    "allow reading it to also use the kernel log");
  }
  fd_ = *std::move(fd);
  is_rewound_ = lseek(fd_.get(), 0, SEEK_SET) == 0;  // a pipe has no front to go to
  // Without a saved position all existing records are old. They are still read, for their numbers.
  is_skipping_ = is_rewound_ && !position_;
  skipped_ = 0;
  newest_.reset();
  ASSIGN_OR_RETURN(watch_, loop_.WatchReadable(fd_.get(), [this] { Read(); }));
  problem_.clear();
  if (!std::exchange(logged_, {}).empty()) {
    KGPU_LOG(kInfo, "kernel log reopened");
  }
  return OkStatus();
}

void KernelLog::Fail(const Status& status) {
  Close();
  problem_ = Message(status);
  if (problem_ != logged_) {
    KGPU_LOG(kInfo, "kernel log not read", {"reason", problem_});
    logged_ = problem_;
  }
  retry_.Arm(kRetry, [this] {
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
      return Fail(Unavailable("{}: nothing writes to it", host_.At(kPath)));
    } else if (errno == EAGAIN) {
      return EndSkipping();
    } else if (errno != EINTR && errno != EPIPE) {  // EPIPE: records were lost; the next is read
      return Fail(ErrnoStatus(errno, host_.At(kPath)));
    }
  }
  // The turn may have read the last old record: then the device is not readable, and without
  // another look the first new one would count as old.
  if (is_skipping_ && fd_.is_valid()) {
    retry_.Arm({}, [this] { Read(); });
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
    TakeRecord(line);
  }
}

void KernelLog::TakeRecord(std::string_view record) {
  const auto message = KernelMessage(record);
  const auto number = message ? RecordNumber(record) : std::nullopt;
  newest_ = number ? number : newest_;
  if (is_skipping_) {
    if (++skipped_ >= kMostSkipped) {
      EndSkipping();
    }
    return;
  }
  const bool is_old = is_rewound_ && number && position_ && *number <= *position_;
  const auto fault = message && !is_old ? ParseKernelMessage(*message) : std::nullopt;
  if (!fault) {
    return;
  }
  listener_(*fault);
  if (is_started_ && number) {  // not sooner: what the listener keeps for later is not done
    position_ = number;
  }
}

void KernelLog::EndSkipping() {
  if (std::exchange(is_skipping_, false) && newest_) {
    position_ = newest_;
  }
}

}  // namespace kgpu::health
