#include "testing/apiserver/watch_hub.h"

#include <algorithm>
#include <vector>

#include <boost/json.hpp>

#include "testing/apiserver/event_form.h"
#include "testing/apiserver/failure.h"
#include "testing/apiserver/json_fields.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

bool Wants(const WatchRequest& request, const StoredPtr& object) {
  if (object == nullptr) {
    return false;
  }
  const json::object& tree = object->object();
  if (!request.name_space.empty() &&
      TextAt(tree, {"metadata", "namespace"}) != request.name_space) {
    return false;
  }
  if (!request.labels.Matches(ObjectAt(tree, {"metadata", "labels"}))) {
    return false;
  }
  if (request.fields.is_empty() || request.resource->form == StoredForm::kAsIs) {
    return request.fields.Matches(tree);
  }
  return request.fields.Matches(ToExternal(*request.resource, tree));
}

std::pair<std::string, std::string> InterestOf(const WatchRequest& request) {
  return {request.resource->StorageName(), request.fields.Exactly("metadata.name").value_or("")};
}

}  // namespace

WatchHub::WatchHub(EventLoop& loop, const Store& store, std::chrono::milliseconds bookmark_interval,
                   size_t max_watches)
    : loop_(loop), store_(store), bookmark_interval_(bookmark_interval), max_watches_(max_watches) {
}

WatchHub::~WatchHub() {
  loop_.CancelTimer(timer_);
}

void WatchHub::Start(WatchRequest request, std::shared_ptr<Sink> sink) {
  if (watches_.size() >= max_watches_) {
    const Status refusal = Failure(429, "TooManyRequests", "too many watches: try again later",
                                   {{"retryAfterSeconds", 1}});
    http::Response response = http::JsonResponse(429, json::serialize(StatusObjectOf(refusal)));
    response.headers.Add("Retry-After", "1");
    sink->Answer(response);
    return;
  }
  sink->Begin(200, {{"Content-Type", "application/json"}, {"Cache-Control", "no-cache, private"}});
  const SteadyTime now = loop_.clock().Now();
  Watch watch{.request = std::move(request),
              .sink = std::move(sink),
              .ends = now,
              .bookmark_due = now + bookmark_interval_,
              .due = {}};
  watch.ends += watch.request.timeout;
  const bool is_initial = watch.request.sends_initial;
  if (!is_initial && watch.request.after < store_.compacted()) {
    const Status gone = ExpiredVersion(
        fmt::format("too old resource version: {} ({})", watch.request.after, store_.compacted()));
    Send(watch, "ERROR", json::serialize(StatusObjectOf(gone)));
    watch.sink->End();
    return;
  }
  if (!(is_initial ? SendInitial(watch) : SendBacklog(watch))) {
    return;
  }
  const uint64_t id = ++last_id_;
  interest_[InterestOf(watch.request)].insert(id);
  Plan(id, watches_.emplace(id, std::move(watch)).first->second);
  Arm();
}

bool WatchHub::Send(Watch& watch, std::string_view type, std::string_view object_json) {
  return watch.sink->Write(fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object_json));
}

bool WatchHub::SendInitial(Watch& watch) {
  for (const auto& [key, object] : store_.All(watch.request.resource->StorageName())) {
    if (Wants(watch.request, object) &&
        !Send(watch, "ADDED", ShowObject(*watch.request.resource, *object, watch.request.view))) {
      return false;
    }
  }
  return !watch.request.marks_initial_end ||
         Send(watch, "BOOKMARK",
              ShowBookmark(*watch.request.resource, store_.revision(), true, watch.request.view));
}

bool WatchHub::SendBacklog(Watch& watch) {
  const auto& [storage, name] = InterestOf(watch.request);
  bool is_open = true;
  store_.ForEachSince(watch.request.after, [&](const Change& change) {
    if (is_open && change.storage == storage && (name.empty() || change.key.name == name)) {
      is_open = SendChange(watch, change);
    }
  });
  return is_open;
}

bool WatchHub::SendChange(Watch& watch, const Change& change) {
  const bool was = Wants(watch.request, change.previous);
  const bool is = change.type != ChangeType::kDeleted && Wants(watch.request, change.object);
  if (!was && !is) {
    return true;
  }
  const char* type = was && is ? "MODIFIED" : is ? "ADDED" : "DELETED";
  if (!is && change.type != ChangeType::kDeleted) {
    // It no longer matches: its state before, in the new version.
    json::object last = change.previous->object();
    MakeObject(last, "metadata")["resourceVersion"] = std::to_string(change.revision);
    const Stored shown(std::move(last), change.revision);
    return Send(watch, type, ShowObject(*watch.request.resource, shown, watch.request.view));
  }
  return Send(watch, type, ShowObject(*watch.request.resource, *change.object, watch.request.view));
}

void WatchHub::Notify(const Change& change) {
  std::vector<uint64_t> ids;
  for (const std::string& name : {std::string(), change.key.name}) {
    if (const auto found = interest_.find({change.storage, name}); found != interest_.end()) {
      ids.insert(ids.end(), found->second.begin(), found->second.end());
    }
  }
  for (const uint64_t id : ids) {
    if (!SendChange(watches_.at(id), change)) {
      Drop(id);
    }
  }
}

void WatchHub::Plan(uint64_t id, Watch& watch) {
  watch.due = std::min(watch.ends, watch.bookmark_due);
  due_.emplace(watch.due, id);
}

void WatchHub::Drop(uint64_t id) {
  const auto found = watches_.find(id);
  due_.erase({found->second.due, id});
  const auto interest = interest_.find(InterestOf(found->second.request));
  interest->second.erase(id);
  if (interest->second.empty()) {
    interest_.erase(interest);
  }
  watches_.erase(found);
}

void WatchHub::Close(std::string_view qualified, bool is_cut) {
  std::vector<uint64_t> ids;
  for (const auto& [id, watch] : watches_) {
    if (qualified.empty() || watch.request.resource->Qualified() == qualified) {
      ids.push_back(id);
    }
  }
  for (const uint64_t id : ids) {
    const std::shared_ptr<Sink> sink = watches_.at(id).sink;
    Drop(id);
    is_cut ? sink->Cut() : sink->End();
  }
}

void WatchHub::CutAll(std::string_view qualified) {
  Close(qualified, true);
}

void WatchHub::EndAll(std::string_view qualified) {
  Close(qualified, false);
}

void WatchHub::Arm() {
  if (due_.empty()) {
    return;
  }
  const SteadyTime next = due_.begin()->first;
  if (timer_ != TimerId::kNone && armed_for_ <= next) {
    return;
  }
  loop_.CancelTimer(timer_);
  armed_for_ = next;
  timer_ = loop_.After(next - loop_.clock().Now(), [this] { OnTimer(); });
}

void WatchHub::OnTimer() {
  timer_ = TimerId::kNone;
  const SteadyTime now = loop_.clock().Now();
  while (!due_.empty() && due_.begin()->first <= now) {
    Serve(due_.begin()->second, now);
  }
  Arm();
}

void WatchHub::Serve(uint64_t id, SteadyTime now) {
  Watch& watch = watches_.at(id);
  if (watch.ends <= now) {
    const std::shared_ptr<Sink> sink = watch.sink;
    Drop(id);
    sink->End();
    return;
  }
  due_.erase({watch.due, id});
  watch.bookmark_due = now + bookmark_interval_;
  Plan(id, watch);
  const bool is_open = !watch.request.wants_bookmarks
                           ? watch.sink->is_open()
                           : Send(watch, "BOOKMARK",
                                  ShowBookmark(*watch.request.resource, store_.revision(), false,
                                               watch.request.view));
  if (!is_open) {
    Drop(id);
  }
}

}  // namespace kgpu::apiserver
