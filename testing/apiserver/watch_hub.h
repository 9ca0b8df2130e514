// All open watches: who gets which change, bookmarks, ends. One timer serves all.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "src/platform/base/event_loop.h"
#include "testing/apiserver/selectors.h"
#include "testing/apiserver/sink.h"
#include "testing/apiserver/store.h"
#include "testing/apiserver/view.h"

namespace kgpu::apiserver {

struct WatchRequest {
  const Resource* resource = nullptr;
  std::string name_space{};  // "": all
  LabelSelector labels;
  FieldSelector fields;
  View view;
  bool wants_bookmarks = false;
  // Start with the existing objects, as ADDED; and with a bookmark after them.
  bool sends_initial = false;
  bool marks_initial_end = false;
  uint64_t after = 0;  // without sends_initial: changes after this version
  std::chrono::milliseconds timeout{0};
};

// Loop thread only. `loop` and `store` outlive it.
class WatchHub {
 public:
  WatchHub(EventLoop& loop, const Store& store, std::chrono::milliseconds bookmark_interval,
           size_t max_watches);
  ~WatchHub();
  WatchHub(const WatchHub&) = delete;
  WatchHub& operator=(const WatchHub&) = delete;

  // Starts the response on `sink`. Over the limit of watches, refuses with code 429.
  void Start(WatchRequest request, std::shared_ptr<Sink> sink);
  void Notify(const Change& change);
  // Breaks connections, all or those of one resource ("": all).
  void CutAll(std::string_view qualified = "");
  // Ends streams properly, as when the server closes them.
  void EndAll(std::string_view qualified = "");
  size_t size() const { return watches_.size(); }

 private:
  struct Watch {
    WatchRequest request;
    std::shared_ptr<Sink> sink;
    SteadyTime ends;
    SteadyTime bookmark_due;
    SteadyTime due;  // the earlier of the two; its key in due_
  };

  bool Send(Watch& watch, std::string_view type, std::string_view object_json);
  bool SendChange(Watch& watch, const Change& change);
  bool SendInitial(Watch& watch);
  bool SendBacklog(Watch& watch);
  void Plan(uint64_t id, Watch& watch);
  void Drop(uint64_t id);
  void Close(std::string_view qualified, bool is_cut);
  void Arm();
  void OnTimer();
  void Serve(uint64_t id, SteadyTime now);

  EventLoop& loop_;
  const Store& store_;
  std::chrono::milliseconds bookmark_interval_;
  size_t max_watches_;
  uint64_t last_id_ = 0;
  std::map<uint64_t, Watch> watches_;
  // By storage name and, for watches of one object, its name: a change is only passed to watches
  // that may want it.
  std::map<std::pair<std::string, std::string>, std::set<uint64_t>> interest_;
  std::set<std::pair<SteadyTime, uint64_t>> due_;
  TimerId timer_ = TimerId::kNone;
  SteadyTime armed_for_;
};

}  // namespace kgpu::apiserver
