#include "src/agent/memory_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/gpu/health/journal.h"
#include "src/platform/base/log.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::agent {
namespace {

constexpr std::chrono::milliseconds kPause{50};
constexpr std::chrono::seconds kRetry{10};

}  // namespace

// The first lists of a start are not held up by it.
MemoryWriter::MemoryWriter(EventLoop& loop, std::string path, std::function<std::string()> print,
                           std::function<void()> problem_changed)
    : loop_(loop),
      path_(std::move(path)),
      print_(std::move(print)),
      problem_changed_(std::move(problem_changed)),
      looked_at_(loop.clock().Now()) {
}

void MemoryWriter::Note() {
  if (!timer_.is_armed()) {
    Arm(kPause);
  }
}

void MemoryWriter::Arm(std::chrono::nanoseconds pause) {
  const std::chrono::nanoseconds rest = looked_at_ + pause - loop_.clock().Now();
  timer_.Arm(std::max<std::chrono::nanoseconds>(rest, {}), [this] {
    switch (Write()) {
      case Outcome::kNothingNew:
        break;
      case Outcome::kWritten:
        // The other source reports the same events a moment later.
        return Arm(kPause);
      case Outcome::kFailed:
        return Arm(kRetry);
    }
  });
}

void MemoryWriter::Flush() {
  if (timer_.is_armed()) {
    timer_.Cancel();
    Write();
  }
}

MemoryWriter::Outcome MemoryWriter::Write() {
  looked_at_ = loop_.clock().Now();
  std::string text = print_();
  if (text == text_) {
    return Outcome::kNothingNew;
  }
  const Status status = sys::WriteFileAtomically(path_, text, 0600, sys::Durability::kMemory);
  if (!status.ok()) {
    const std::string problem = fmt::format(
        "{}: free disk space there; until then a restarted agent restores faults from {}",
        Message(status), health::kJournalFile);
    if (problem != problem_) {
      KGPU_LOG(kWarning, "agent state not saved", {"reason", problem});
      problem_ = problem;
      problem_changed_();
    }
    return Outcome::kFailed;
  }
  if (!problem_.empty()) {
    KGPU_LOG(kInfo, "agent state saved again", {"file", path_});
    problem_.clear();
    problem_changed_();
  }
  text_ = std::move(text);
  return Outcome::kWritten;
}

}  // namespace kgpu::agent
