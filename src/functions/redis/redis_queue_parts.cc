// Lists and changes of the queue that people request, a part at a time.
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <utility>

#include "src/functions/redis/redis_queue.h"

namespace kgpu::functions {

struct RedisQueue::Listing {
  CallSelection selection{};
  std::function<void(StatusOr<boost::json::object>)> done{};
  boost::json::array calls{};
  size_t left = 0;
  int64_t after = 0;
};

void RedisQueue::List(const CallSelection& selection,
                      std::function<void(StatusOr<boost::json::object>)> done) {
  ListPart(std::make_shared<Listing>(Listing{.selection = selection, .done = std::move(done)}));
}

void RedisQueue::ListPart(const std::shared_ptr<Listing>& listing) {
  calls_.Page(listing->selection, listing->after, kMaxListedCalls - listing->calls.size(),
              lifetime_.Bind([this, listing](const StatusOr<CallPage>& page) {
                if (!page.ok()) {
                  return listing->done(page.status());
                }
                for (const auto& [call, state] : page->calls) {
                  listing->calls.push_back(CallView(call, state));
                }
                listing->left += page->left;
                if (page->next) {
                  listing->after = *page->next;
                  return ListPart(listing);
                }
                EndList(listing);
              }));
}

void RedisQueue::EndList(const std::shared_ptr<Listing>& listing) {
  calls_.Counts(lifetime_.Bind([this, listing](
                                   const StatusOr<std::map<std::string, FunctionCounts>>& counts) {
    if (!counts.ok()) {
      return listing->done(counts.status());
    }
    counts_ = *counts;
    listing->done(boost::json::object{{"functions", CountsView(Counts(), loop_.clock().WallNow())},
                                      {"calls", std::move(listing->calls)},
                                      {"left", listing->left}});
  }));
}

struct RedisQueue::Changing {
  ChangeRequest request{};
  bool is_retry = false;
  std::function<void(StatusOr<size_t>)> done{};
  WallTime now{};
  size_t changed = 0;
  int64_t after = 0;
};

void RedisQueue::Change(const ChangeRequest& request, bool is_retry,
                        std::function<void(StatusOr<size_t>)> done) {
  ChangePart(std::make_shared<Changing>(Changing{.request = request,
                                                 .is_retry = is_retry,
                                                 .done = std::move(done),
                                                 .now = loop_.clock().WallNow()}));
}

void RedisQueue::ChangePart(const std::shared_ptr<Changing>& changing) {
  calls_.Change(changing->request, changing->is_retry, changing->after, changing->now,
                lifetime_.Bind([this, changing](const StatusOr<ChangedPart>& part) {
                  if (!part.ok()) {
                    return changing->done(part.status());
                  }
                  changing->changed += part->changed;
                  if (part->next) {
                    changing->after = *part->next;
                    return ChangePart(changing);
                  }
                  changing->done(changing->changed);
                }));
}

}  // namespace kgpu::functions
