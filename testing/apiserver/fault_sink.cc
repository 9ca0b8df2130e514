// Answers that come late, in drops, or not whole.
#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "testing/apiserver/faults.h"

namespace kgpu::apiserver {
namespace {

class FaultSink final : public Sink, public std::enable_shared_from_this<FaultSink> {
 public:
  FaultSink(EventLoop& loop, std::shared_ptr<Sink> sink) : loop_(loop), sink_(std::move(sink)) {}

  void Take(const Fault& fault) {
    if (fault.kind == FaultKind::kDelay) {
      delay_ += fault.delay;
    } else if (fault.kind == FaultKind::kTrickle) {
      drop_ = std::max<size_t>(1, fault.bytes);
      pause_ = fault.delay;
    } else if (fault.kind == FaultKind::kCut) {
      left_ = fault.bytes;
    }
  }

  void Answer(const http::Response& response) override {
    Begin(response.code, response.headers);
    Write(response.body);
    End();
  }

  void Begin(int code, const http::Headers& headers) override {
    const auto begin = [self = shared_from_this(), code, headers] {
      if (self->sink_->is_open()) {
        self->sink_->Begin(code, headers);
      }
      self->has_begun_ = true;
      self->Pump();
    };
    if (delay_.count() == 0) {
      begin();
    } else {
      loop_.After(delay_, begin);
    }
  }

  bool Write(std::string_view bytes) override {
    if (!is_open()) {
      return false;
    }
    waiting_.append(bytes);
    Pump();
    return is_open();
  }

  void End() override {
    is_ended_ = true;
    Pump();
  }

  void Cut() override {
    is_cut_ = true;
    sink_->Cut();
  }

  bool is_open() const override { return !is_cut_ && sink_->is_open(); }

 private:
  void Pump() {
    if (!has_begun_ || is_pausing_ || is_cut_) {
      return;
    }
    const size_t most = drop_ == 0 ? waiting_.size() : std::min(drop_, waiting_.size());
    const size_t count = left_ ? std::min(most, *left_) : most;
    if (count > 0) {
      sink_->Write(std::string_view(waiting_).substr(0, count));
      waiting_.erase(0, count);
    }
    if (left_) {
      *left_ -= count;
      if (*left_ == 0 && (!waiting_.empty() || !is_ended_)) {
        Cut();
        return;
      }
    }
    if (waiting_.empty()) {
      if (is_ended_ && !std::exchange(has_reported_end_, true)) {
        sink_->End();
      }
      return;
    }
    is_pausing_ = true;
    loop_.After(pause_, [self = shared_from_this()] {
      self->is_pausing_ = false;
      self->Pump();
    });
  }

  EventLoop& loop_;
  std::shared_ptr<Sink> sink_;
  std::chrono::milliseconds delay_{0};
  size_t drop_ = 0;  // bytes at a time; 0: all
  std::chrono::milliseconds pause_{0};
  std::optional<size_t> left_;  // until the cut
  std::string waiting_;
  bool has_begun_ = false;
  bool is_pausing_ = false;
  bool is_ended_ = false;
  bool has_reported_end_ = false;
  bool is_cut_ = false;
};

}  // namespace

std::shared_ptr<Sink> WithFaults(EventLoop& loop, std::shared_ptr<Sink> sink,
                                 const std::vector<Fault>& faults) {
  const bool is_touched = std::ranges::any_of(faults, [](const Fault& fault) {
    return fault.kind == FaultKind::kDelay || fault.kind == FaultKind::kTrickle ||
           fault.kind == FaultKind::kCut;
  });
  if (!is_touched) {
    return sink;
  }
  auto faulty = std::make_shared<FaultSink>(loop, std::move(sink));
  for (const Fault& fault : faults) {
    faulty->Take(fault);
  }
  return faulty;
}

}  // namespace kgpu::apiserver
