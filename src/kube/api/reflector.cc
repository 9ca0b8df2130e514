#include "src/kube/api/reflector.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>

#include "src/kube/api/api_error.h"
#include "src/kube/api/json.h"
#include "src/kube/api/object_cache.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/timer.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// How long a watch is to last, jittered so that those of many nodes do not end together; and what
// the server may be late with the end before the connection counts as dead.
constexpr seconds kShortestWatch{300};
constexpr seconds kLongestWatch{600};
constexpr seconds kWatchGrace{30};
// A watch that ends so soon is a failure even when it ends well: a server that ends each would be
// asked without a pause. Not one that had much to tell: that one is busy.
constexpr seconds kSuspiciousEnd{1};
constexpr size_t kManyEvents = 100;
// Wait after errors that only a human can fix (RBAC, an API that does not exist).
constexpr seconds kLongWait{60};
// After an outage a server may have another, shorter history: etcd was restored from a backup. Its
// watch from our version then begins in the future and leaves out everything until there. One small
// list shows it, some time within this, so that 10,000 nodes do not all send it at once.
constexpr seconds kHistoryCheckSpread{60};
// Wait for a server that is behind: it is soon up to date.
constexpr seconds kBehindWait{1};

enum class Start : uint8_t {
  kList,  // not older than what was seen
  kListNewest,
  kListCached,  // of any age
  kWatchList,   // the list as events
};

bool IsForgotten(const Status& status) {
  return status.code() == StatusCode::kOutOfRange && ApiErrorOf(status).has_value();
}

bool IsForHumans(const Status& status) {
  return status.code() == StatusCode::kPermissionDenied || status.code() == StatusCode::kNotFound ||
         status.code() == StatusCode::kUnimplemented ||
         status.code() == StatusCode::kInvalidArgument;
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Versions of one resource are whole numbers without leading zeros.
bool IsOlder(std::string_view version, std::string_view than) {
  return IsNumber(version) && IsNumber(than) &&
         (version.size() != than.size() ? version.size() < than.size() : version < than);
}

// In a bookmark: all initial events have been sent.
bool EndsInitialEvents(const json::value& object) {
  return TextField(object, {"metadata", "annotations", "k8s.io/initial-events-end"}) == "true";
}

}  // namespace

class Reflector::Impl : public std::enable_shared_from_this<Reflector::Impl> {
 public:
  Impl(EventLoop& loop, Client& client, Random& random, ReflectorOptions options,
       ReflectorHandlers handlers)
      : loop_(loop),
        client_(client),
        random_(random),
        options_(std::move(options)),
        handlers_(std::move(handlers)),
        has_watch_list_(options_.uses_watch_list),
        backoff_(random, options_.backoff) {}

  void Begin() {
    start_ = has_watch_list_ ? Start::kWatchList : FirstList();
    Resync();
  }

  void Stop() {
    is_stopped_ = true;
    call_.reset();
    timer_.Cancel();
    StopHistoryCheck();
    handlers_ = {};
  }

  const std::map<std::string, ObjectPtr>& objects() const { return cache_.objects(); }
  bool is_synced() const { return is_synced_; }

 private:
  // Where nothing has been seen yet.
  Start FirstList() const {
    return options_.starts_from_cache ? Start::kListCached : Start::kListNewest;
  }

  std::string ListVersion() const {
    return start_ == Start::kListCached ? "0" : start_ == Start::kList ? version_ : "";
  }

  // Reads everything again, as start_ says.
  void Resync() {
    if (start_ == Start::kWatchList) {
      return Watch(true);
    }
    ListOptions list{.selection = options_.selection,
                     .resource_version = ListVersion(),
                     .chunk = options_.chunk,
                     .max_objects = options_.max_objects,
                     .max_bytes = options_.max_bytes,
                     .keeps = options_.keeps,
                     .trim = [this](json::value& object) { Trim(object); },
                     .is_repeated = false};
    call_ = ListObjects(client_, std::move(list), [this](StatusOr<ListResult> result) {
      const auto self = shared_from_this();
      OnList(std::move(result));
    });
  }

  void OnList(StatusOr<ListResult> result) {
    call_.reset();
    if (!result.ok()) {
      return OnListTrouble(result.status());
    }
    if (const Status status = Replace(std::move(result->items), result->resource_version);
        !status.ok()) {
      return Trouble(status, [this] { Resync(); });
    }
    if (!is_stopped_) {
      Watch(false);
    }
  }

  void OnListTrouble(const Status& status) {
    if (IsForgotten(status) || HasReason(status, "ResourceVersionTooLarge")) {
      start_ = Start::kListNewest;
    }
    Trouble(status, [this] { Resync(); });
  }

  void Trim(json::value& object) const {
    if (json::object* fields = object.if_object();
        fields != nullptr && !options_.keeps_managed_fields) {
      if (json::value* metadata = fields->if_contains("metadata");
          metadata != nullptr && metadata->is_object()) {
        metadata->get_object().erase("managedFields");
      }
    }
    if (options_.trim) {
      options_.trim(object);
    }
  }

  bool IsKept(const json::value& object) const { return !options_.keeps || options_.keeps(object); }

  // A whole list takes the place of what is known.
  Status Replace(std::vector<json::value> items, std::string_view version) {
    size_t bytes = 0;
    for (const json::value& item : items) {
      bytes += MemoryOf(item);
    }
    if (bytes > options_.max_bytes) {
      return TooLarge();
    }
    version_ = version;
    was_away_ = false;
    StopHistoryCheck();
    // Never back in time behind this.
    start_ = has_watch_list_ ? Start::kWatchList : Start::kList;
    is_synced_ = true;
    Report(cache_.Replace(std::move(items)));
    if (const auto on_synced = handlers_.on_synced) {
      on_synced();
    }
    return OkStatus();
  }

  void Report(const std::vector<ObjectCache::Change>& changes) const {
    for (const ObjectCache::Change& change : changes) {
      // Copies: a handler may stop all of this.
      if (const auto on_gone = handlers_.on_gone; change.gone && on_gone) {
        on_gone(change.gone);
      }
      if (const auto on_changed = handlers_.on_changed; change.changed && on_changed) {
        on_changed(change.changed);
      }
    }
  }

  Status TooLarge() const {
    return OutOfRange("GET {}: more than {} objects or {} bytes: select fewer",
                      options_.selection.path, options_.max_objects, options_.max_bytes);
  }

  // Events from version_ on; with `is_list` the whole state as events before them.
  void Watch(bool is_list) {
    const seconds length = kShortestWatch + std::chrono::duration_cast<seconds>(
                                                random_.PartOf(kLongestWatch - kShortestWatch));
    is_initial_ = is_list;
    initial_.clear();
    initial_bytes_ = 0;
    began_ = loop_.clock().Now();
    events_ = 0;
    call_ = client_.Stream(WatchRequest(is_list, length),
                           {.on_begin =
                                [this] {
                                  const auto self = shared_from_this();
                                  if (std::exchange(was_away_, false) && !is_initial_) {
                                    history_timer_.Arm(random_.PartOf(kHistoryCheckSpread),
                                                       [this] { CheckHistory(); });
                                  }
                                  if (const auto on_watching = handlers_.on_watching) {
                                    on_watching();
                                  }
                                },
                            .on_event =
                                [this](WatchEventType type, json::value&& object) {
                                  const auto self = shared_from_this();
                                  OnEvent(type, std::move(object));
                                },
                            .on_end =
                                [this](const Status& status) {
                                  const auto self = shared_from_this();
                                  was_away_ = was_away_ || !status.ok();
                                  OnWatchEnd(status);
                                }});
    timer_.Arm(length + kWatchGrace, [this] {
      const auto self = shared_from_this();
      OnWatchEnd(Unavailable("GET {}: the watch did not end in time: the connection is dead",
                             options_.selection.path));
    });
  }

  // Whether the server's newest version is older than what it has sent before.
  void CheckHistory() {
    ApiRequest request{
        .path = options_.selection.path, .query = {{"limit", "1"}}, .is_repeated = false};
    AddSelectors(request);
    history_call_ = client_.Send(std::move(request), [this](const StatusOr<json::value>& newest) {
      const auto self = shared_from_this();
      history_call_.reset();
      // An error: the watch finds it, too, and is followed by another check.
      if (newest.ok() && IsOlder(VersionOf(*newest), version_)) {
        version_.clear();
        start_ = has_watch_list_ ? Start::kWatchList : Start::kListNewest;
        Trouble(Unavailable("GET {}: the server's history was replaced by an older one",
                            options_.selection.path),
                [this] { Resync(); });
      }
    });
  }

  void StopHistoryCheck() {
    history_timer_.Cancel();
    history_call_.reset();
  }

  void AddSelectors(ApiRequest& request) const {
    if (!options_.selection.label_selector.empty()) {
      request.query.emplace_back("labelSelector", options_.selection.label_selector);
    }
    if (!options_.selection.field_selector.empty()) {
      request.query.emplace_back("fieldSelector", options_.selection.field_selector);
    }
  }

  ApiRequest WatchRequest(bool is_list, seconds length) const {
    ApiRequest request{.path = options_.selection.path,
                       .query = {{"watch", "1"},
                                 {"allowWatchBookmarks", "true"},
                                 {"timeoutSeconds", fmt::format("{}", length.count())}}};
    AddSelectors(request);
    if (is_list) {
      request.query.emplace_back("sendInitialEvents", "true");
      request.query.emplace_back("resourceVersionMatch", "NotOlderThan");
    }
    request.query.emplace_back("resourceVersion", version_);
    return request;
  }

  void OnEvent(WatchEventType type, json::value&& object) {
    ++events_;
    if (is_initial_) {
      return OnInitialEvent(type, std::move(object));
    }
    if (!VersionOf(object).empty()) {
      version_ = VersionOf(object);
    }
    if (type == WatchEventType::kDeleted ||
        (type != WatchEventType::kBookmark && !IsKept(object))) {
      Report(cache_.Remove(object));
    } else if (type != WatchEventType::kBookmark) {
      Trim(object);
      Report(cache_.Put(std::move(object)));
      if (!is_stopped_ &&
          (cache_.objects().size() > options_.max_objects || cache_.bytes() > options_.max_bytes)) {
        Trouble(TooLarge(), [this] { Resync(); });
      }
    }
  }

  // Before all has come nothing is believed: a connection that breaks now has reported nothing.
  void OnInitialEvent(WatchEventType type, json::value&& object) {
    if (type == WatchEventType::kBookmark) {
      if (!EndsInitialEvents(object)) {
        return;
      }
      is_initial_ = false;
      const std::string version(VersionOf(object));
      if (const Status status = Replace(std::exchange(initial_, {}), version); !status.ok()) {
        Trouble(status, [this] { Resync(); });
      }
      return;
    }
    const bool is_kept = type == WatchEventType::kDeleted || IsKept(object);
    if (type == WatchEventType::kAdded && !is_kept) {
      return;
    }
    if (type == WatchEventType::kDeleted || !is_kept) {
      std::erase_if(initial_, [key = KeyOf(object)](const json::value& other) {
        return KeyOf(other) == key;
      });
      return;
    }
    Trim(object);
    initial_bytes_ += MemoryOf(object);
    initial_.push_back(std::move(object));
    if (initial_.size() > options_.max_objects || initial_bytes_ > options_.max_bytes) {
      Trouble(TooLarge(), [this] { Resync(); });
    }
  }

  void OnWatchEnd(const Status& status) {
    call_.reset();
    timer_.Cancel();
    if (std::exchange(is_initial_, false)) {
      return OnWatchListEnd(status);
    }
    const bool is_soon = loop_.clock().Now() - began_ < kSuspiciousEnd && events_ < kManyEvents;
    if (status.ok() && !is_soon) {
      return Watch(false);
    }
    if (status.ok()) {
      return Trouble(Unavailable("GET {}: the watch ended immediately", options_.selection.path),
                     [this] { Watch(false); });
    }
    // If the server has forgotten or rejects the version, list again. Otherwise continue from it:
    // 10,000 nodes that lost one server must not all list at the next.
    if (IsForgotten(status) || IsForHumans(status) || status.code() == StatusCode::kOutOfRange) {
      return Trouble(status, [this] { Resync(); });
    }
    if (HasReason(status, "ResourceVersionTooLarge")) {
      start_ = Start::kListNewest;
      return Trouble(status, [this] { Resync(); });
    }
    Trouble(status, [this] { Watch(false); });
  }

  void OnWatchListEnd(const Status& status) {
    initial_.clear();
    if (status.ok()) {
      // A server that does not know of initial events never says that they are over.
      has_watch_list_ = false;
      start_ = version_.empty() ? FirstList() : Start::kListNewest;
    } else if (IsForgotten(status) || HasReason(status, "ResourceVersionTooLarge")) {
      version_.clear();
    } else if (IsForHumans(status)) {
      start_ = version_.empty() ? FirstList() : Start::kList;
    }
    Trouble(status.ok() ? Unavailable("GET {}: the initial state is incomplete: listing instead",
                                      options_.selection.path)
                        : status,
            [this] { Resync(); });
  }

  void Trouble(const Status& status, std::function<void()> again) {
    call_.reset();
    timer_.Cancel();
    StopHistoryCheck();
    nanoseconds wait = backoff_.Next(loop_.clock().Now());
    if (HasReason(status, "ResourceVersionTooLarge")) {
      wait = kBehindWait + random_.PartOf(kBehindWait);
    } else if (IsForHumans(status)) {
      wait = std::max<nanoseconds>(wait, kLongWait / 2 + random_.PartOf(kLongWait));
    }
    wait = std::max<nanoseconds>(wait, RetryAfterOf(status));
    timer_.Arm(wait, [this, again = std::move(again)] {
      const auto self = shared_from_this();
      again();
    });
    if (const auto on_trouble = handlers_.on_trouble) {
      on_trouble(status);
    }
  }

  EventLoop& loop_;
  Client& client_;
  Random& random_;
  const ReflectorOptions options_;
  ReflectorHandlers handlers_;
  bool has_watch_list_;  // as far as we know
  Backoff backoff_;

  ObjectCache cache_;
  std::string version_;  // the last one seen
  Start start_ = Start::kListNewest;
  bool is_synced_ = false;
  bool is_stopped_ = false;

  bool was_away_ = false;  // a watch has failed since the last list or check
  std::unique_ptr<Call> history_call_;
  Timer history_timer_{loop_};
  std::unique_ptr<Call> call_;
  Timer timer_{loop_};
  SteadyTime began_;         // of the watch
  size_t events_ = 0;        // of the watch
  bool is_initial_ = false;  // its events are the list's
  std::vector<json::value> initial_;
  size_t initial_bytes_ = 0;
};

Reflector::Reflector(EventLoop& loop, Client& client, Random& random, ReflectorOptions options,
                     ReflectorHandlers handlers)
    : impl_(std::make_shared<Impl>(loop, client, random, std::move(options), std::move(handlers))) {
  impl_->Begin();
}

Reflector::~Reflector() {
  impl_->Stop();
}

const std::map<std::string, ObjectPtr>& Reflector::objects() const {
  return impl_->objects();
}

ObjectPtr Reflector::Find(const std::string& key) const {
  const auto found = objects().find(key);
  return found == objects().end() ? nullptr : found->second;
}

bool Reflector::is_synced() const {
  return impl_->is_synced();
}

}  // namespace kgpu::kube
