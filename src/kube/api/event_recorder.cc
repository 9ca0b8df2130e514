#include "src/kube/api/event_recorder.h"

#include <boost/json.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "src/kube/api/api_error.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/backoff.h"
#include "src/platform/base/log.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"
#include "src/platform/base/timer.h"
#include "src/platform/base/utf8.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using std::chrono::minutes;
using std::chrono::nanoseconds;

constexpr minutes kSeriesEnd{6};
constexpr minutes kWriteEvery{5};
constexpr double kWriteBurst = 25;
constexpr minutes kTryFor{30};
constexpr size_t kMaxName = 128;
constexpr size_t kMaxNote = 1024;

// The fields that identify an event; the note is not one of them.
using EventKey = std::tuple<bool, std::string, std::string, std::string, ObjectReference>;

EventKey KeyOfEvent(const Event& event) {
  return {event.is_warning, event.reason, event.action, event.subject, event.regarding};
}

struct Kept {
  Event event{};
  std::string name{};  // of the object
  bool is_created = false;
  uint64_t generation = 0;  // of the series
  WallTime first_seen{};
  WallTime last_seen{};
  SteadyTime last_time{};  // of last_seen
  SteadyTime dirty_since{};
  uint64_t count = 0;
  uint64_t written = 0;  // of count
  double tokens = kWriteBurst;
  SteadyTime filled{};

  bool IsDirty() const { return written < count; }
  // How many writes are allowed at `now`.
  double TokensAt(SteadyTime now) const {
    const std::chrono::duration<double> since = now - filled;
    const std::chrono::duration<double> every = kWriteEvery;
    return std::min(kWriteBurst, tokens + since / every);
  }
  void Refill(SteadyTime now) {
    tokens = TokensAt(now);
    filled = now;
  }
};

}  // namespace

class EventRecorder::Impl {
 public:
  Impl(EventLoop& loop, Client& client, Random& random, EventRecorderOptions options)
      : loop_(loop),
        client_(client),
        random_(random),
        options_(std::move(options)),
        backoff_(random, {.first = std::chrono::seconds(1), .longest = minutes(1)}) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void Record(const Event& event) {
    const SteadyTime now = loop_.clock().Now();
    Forget(now);
    auto found = kept_.find(KeyOfEvent(event));
    if (found == kept_.end()) {
      if (kept_.size() >= options_.max_kept && !ForgetOldest()) {
        ++dropped_;
        return;
      }
      found = kept_.emplace(KeyOfEvent(event), Kept{.filled = now}).first;
    }
    Kept& kept = found->second;
    if (kept.count == 0 || now - kept.last_time > kSeriesEnd) {
      StartAgain(kept, event);
    }
    if (!kept.IsDirty()) {
      kept.dirty_since = now;
    }
    ++kept.count;
    kept.last_seen = loop_.clock().WallNow();
    kept.last_time = now;
    Schedule(nanoseconds(0));
  }

  uint64_t dropped() const { return dropped_; }

 private:
  // A new object; what the last one lacks is not reported any more.
  void StartAgain(Kept& kept, const Event& event) const {
    kept.event = event;
    kept.name = NewName(event);
    kept.is_created = false;
    ++kept.generation;
    kept.first_seen = loop_.clock().WallNow();
    kept.count = 0;
    kept.written = 0;
  }

  // Series that are over and reported, and whose limit of writes would not begin again too early.
  void Forget(SteadyTime now) {
    std::erase_if(kept_, [&](const auto& entry) {
      const Kept& kept = entry.second;
      return IsIdle(entry) && now - kept.last_time > kSeriesEnd &&
             kept.TokensAt(now) >= kWriteBurst;
    });
  }

  bool ForgetOldest() {
    auto oldest = kept_.end();
    for (auto entry = kept_.begin(); entry != kept_.end(); ++entry) {
      if (IsIdle(*entry) &&
          (oldest == kept_.end() || entry->second.last_time < oldest->second.last_time)) {
        oldest = entry;
      }
    }
    if (oldest == kept_.end()) {
      return false;
    }
    kept_.erase(oldest);
    return true;
  }

  bool IsIdle(const std::pair<const EventKey, Kept>& entry) const {
    return !entry.second.IsDirty() && !(call_ && entry.first == sending_);
  }

  void Schedule(nanoseconds wait) {
    if (!timer_.is_armed() && !call_) {
      timer_.Arm(wait, [this] { SendNext(); });
    }
  }

  // The one that has waited longest, of those that may be written.
  void SendNext() {
    const SteadyTime now = loop_.clock().Now();
    std::pair<const EventKey, Kept>* next = nullptr;
    nanoseconds wait = nanoseconds::max();
    for (auto& entry : kept_) {
      Kept& kept = entry.second;
      kept.Refill(now);
      if (!kept.IsDirty()) {
        continue;
      }
      if (kept.tokens < 1) {
        wait = std::min(wait,
                        std::chrono::duration_cast<nanoseconds>((1 - kept.tokens) * kWriteEvery) +
                            std::chrono::milliseconds(1));
      } else if (next == nullptr || kept.dirty_since < next->second.dirty_since) {
        next = &entry;
      }
    }
    if (next != nullptr) {
      Send(next->first, next->second);
    } else if (wait != nanoseconds::max()) {
      Schedule(wait);
    }
  }

  void Send(const EventKey& key, Kept& kept) {
    kept.tokens -= 1;
    sending_ = key;
    sending_generation_ = kept.generation;
    sending_count_ = kept.is_created ? kept.count : 1;
    ApiRequest request =
        kept.is_created ? PatchRequest(kEvents.Object(SpaceOf(kept.event), kept.name),
                                       PatchType::kMerge, json::object{{"series", SeriesOf(kept)}})
                        : CreateRequest(kEvents.Collection(SpaceOf(kept.event)), NewObject(kept));
    request.is_repeated = false;
    call_ = client_.Send(std::move(request), [this](const StatusOr<json::value>& answer) {
      call_.reset();
      const auto found = kept_.find(sending_);
      if (found != kept_.end() && found->second.generation == sending_generation_) {
        OnAnswer(found->second, answer.status());
      } else {
        Schedule(nanoseconds(0));
      }
    });
  }

  void OnAnswer(Kept& kept, const Status& status) {
    // An attempt whose answer was lost may have made it.
    const bool is_there = !kept.is_created && status.code() == StatusCode::kAlreadyExists;
    if (status.ok() || is_there) {
      kept.is_created = true;
      kept.written = std::max(kept.written, sending_count_);
      backoff_.Reset();
      return Schedule(nanoseconds(0));
    }
    if (status.code() == StatusCode::kNotFound && kept.is_created) {
      // It has been removed: another one, which begins with what is left to tell.
      kept.name = NewName(kept.event);
      kept.is_created = false;
      kept.first_seen = kept.last_seen;
      kept.count = 1;
      kept.written = 0;
      return Schedule(nanoseconds(0));
    }
    const SteadyTime now = loop_.clock().Now();
    const bool is_worth_it = status.code() == StatusCode::kUnavailable ||
                             status.code() == StatusCode::kDeadlineExceeded ||
                             status.code() == StatusCode::kUnauthenticated;
    if (is_worth_it && now - kept.dirty_since < kTryFor) {
      kept.tokens += 1;
      return Schedule(std::max<nanoseconds>(backoff_.Next(now), RetryAfterOf(status)));
    }
    Drop(kept, status);
    Schedule(nanoseconds(0));
  }

  void Drop(Kept& kept, const Status& status) {
    dropped_ += kept.count - kept.written;
    kept.written = kept.count;
    const bool is_ending = HasReason(status, "NamespaceTerminating");
    if (!is_ending && !std::exchange(has_reported_, true)) {
      KGPU_LOG(kWarning, "events rejected", {"reason", Message(status)});
    }
  }

  // Events of objects without a namespace are in "default".
  static std::string SpaceOf(const Event& event) {
    return event.regarding.space.empty() ? "default" : event.regarding.space;
  }

  std::string NewName(const Event& event) const {
    const std::string ending = fmt::format(".{:016x}", random_.Next());
    return fmt::format("{}{}", CutUtf8(event.regarding.name, 253 - ending.size()), ending);
  }

  static json::value SeriesOf(const Kept& kept) {
    return {{"count", std::max<uint64_t>(kept.count, 2)},
            {"lastObservedTime", FormatMicroTime(kept.last_seen)}};
  }

  json::value NewObject(const Kept& kept) const {
    const Event& event = kept.event;
    const ObjectReference& about = event.regarding;
    json::object regarding = {{"apiVersion", about.api_version},
                              {"kind", about.kind},
                              {"name", about.name},
                              {"uid", about.uid}};
    if (!about.space.empty()) {
      regarding["namespace"] = about.space;
    }
    return {{"apiVersion", "events.k8s.io/v1"},
            {"kind", "Event"},
            {"metadata", {{"name", kept.name}, {"namespace", SpaceOf(event)}}},
            {"eventTime", FormatMicroTime(kept.first_seen)},
            {"type", event.is_warning ? "Warning" : "Normal"},
            {"reason", std::string(CutUtf8(event.reason, kMaxName))},
            {"action", std::string(CutUtf8(event.action, kMaxName))},
            {"note", std::string(CutUtf8(event.note, kMaxNote))},
            {"reportingController", options_.controller},
            {"reportingInstance", std::string(CutUtf8(options_.instance, kMaxName))},
            {"regarding", std::move(regarding)}};
  }

  EventLoop& loop_;
  Client& client_;
  Random& random_;
  const EventRecorderOptions options_;
  Backoff backoff_;
  std::map<EventKey, Kept> kept_;
  uint64_t dropped_ = 0;
  bool has_reported_ = false;
  Timer timer_{loop_};

  // The write in progress.
  std::unique_ptr<Call> call_;
  EventKey sending_;
  uint64_t sending_generation_ = 0;
  uint64_t sending_count_ = 0;
};

EventRecorder::EventRecorder(EventLoop& loop, Client& client, Random& random,
                             EventRecorderOptions options)
    : impl_(std::make_unique<Impl>(loop, client, random, std::move(options))) {
}

EventRecorder::~EventRecorder() = default;

void EventRecorder::Record(const Event& event) {
  impl_->Record(event);
}

uint64_t EventRecorder::dropped() const {
  return impl_->dropped();
}

}  // namespace kgpu::kube
