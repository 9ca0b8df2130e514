#include "src/agent/memory_keeper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::agent {
namespace {

constexpr std::chrono::milliseconds kPause{50};

}  // namespace

// The first lists of a start are not held up by it.
MemoryKeeper::MemoryKeeper(EventLoop& loop, std::string path, std::function<std::string()> print)
    : loop_(loop),
      path_(std::move(path)),
      print_(std::move(print)),
      looked_at_(loop.clock().Now()) {
}

MemoryKeeper::~MemoryKeeper() {
  loop_.CancelTimer(timer_);
}

void MemoryKeeper::Note() {
  if (timer_ == TimerId::kNone) {
    Arm();
  }
}

void MemoryKeeper::Arm() {
  const auto pause = looked_at_ + kPause - loop_.clock().Now();
  timer_ = loop_.After(std::max<std::chrono::nanoseconds>(pause, {}), [this] {
    timer_ = TimerId::kNone;
    if (Write()) {
      Arm();  // what the other source says of the same news is read a moment later
    }
  });
}

void MemoryKeeper::Flush() {
  if (timer_ != TimerId::kNone) {
    loop_.CancelTimer(std::exchange(timer_, TimerId::kNone));
    Write();
  }
}

// Whether there was anything new.
bool MemoryKeeper::Write() {
  looked_at_ = loop_.clock().Now();
  std::string text = print_();
  if (text == text_) {
    return false;
  }
  const Status status = sys::WriteFileAtomically(path_, text, 0600, sys::Durability::kMemory);
  if (!status.ok()) {
    KGPU_LOG(kWarning, "a restart will forget faults", {"reason", Message(status)});
  }
  text_ = std::move(text);
  return true;
}

}  // namespace kgpu::agent
