#include "src/kube/api/lister.h"

#include <boost/json/value.hpp>

#include <chrono>
#include <utility>

#include "src/kube/api/api_error.h"
#include "src/kube/api/json.h"
#include "src/kube/api/object_cache.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;

// A server may send empty chunks if a selector leaves out much; but not for ever.
constexpr size_t kMaxEmptyChunks = 1'000;

class Lister : public std::enable_shared_from_this<Lister> {
 public:
  Lister(Client& client, ListOptions options, ListDone done)
      : client_(client), options_(std::move(options)), done_(std::move(done)) {}

  void Ask() {
    ApiRequest request{.path = options_.selection.path,
                       .timeout = std::chrono::seconds(60),
                       .is_repeated = options_.is_repeated};
    const auto add = [&](std::string_view key, const std::string& value) {
      if (!value.empty()) {
        request.query.emplace_back(key, value);
      }
    };
    add("labelSelector", options_.selection.label_selector);
    add("fieldSelector", options_.selection.field_selector);
    if (options_.chunk > 0) {
      add("limit", fmt::format("{}", options_.chunk));
    }
    if (!token_.empty()) {
      add("continue", token_);
    } else if (!options_.resource_version.empty()) {
      add("resourceVersion", options_.resource_version);
      add("resourceVersionMatch", "NotOlderThan");
    }
    call_ = client_.Send(std::move(request), [this](StatusOr<json::value> answer) {
      const auto self = shared_from_this();
      OnAnswer(std::move(answer));
    });
  }

  void Cancel() {
    call_.reset();
    done_ = nullptr;
  }

 private:
  void OnAnswer(StatusOr<json::value> answer) {
    if (!answer.ok()) {
      // Chunks of two versions do not make one list: all of it is read again, at once.
      if (!has_begun_again_ && !token_.empty() &&
          answer.status().code() == StatusCode::kOutOfRange && ApiErrorOf(answer.status())) {
        has_begun_again_ = true;
        result_ = {};
        bytes_ = 0;
        token_.clear();
        options_.chunk = 0;
        return Ask();
      }
      return Finish(answer.status());
    }
    result_.resource_version = VersionOf(*answer);
    token_ = TextField(*answer, {"metadata", "continue"});
    size_t received = 0;
    if (json::object* list = answer->if_object()) {
      if (json::value* items = list->if_contains("items"); items != nullptr && items->is_array()) {
        received = items->get_array().size();
        TakeItems(items->get_array());
      }
    }
    empty_chunks_ = received > 0 ? 0 : empty_chunks_ + 1;
    if (const Status status = CheckLimits(); !status.ok()) {
      return Finish(status);
    }
    if (token_.empty()) {
      return Finish(std::move(result_));
    }
    Ask();
  }

  void TakeItems(json::array& items) {
    for (json::value& item : items) {
      if (options_.keeps && !options_.keeps(item)) {
        continue;
      }
      if (options_.trim) {
        options_.trim(item);
      }
      bytes_ += MemoryOf(item);
      result_.items.push_back(std::move(item));
    }
  }

  Status CheckLimits() const {
    const std::string& path = options_.selection.path;
    if (result_.items.size() > options_.max_objects) {
      return OutOfRange("GET {}: more than {} objects: select fewer", path, options_.max_objects);
    }
    if (bytes_ > options_.max_bytes) {
      return OutOfRange("GET {}: more than {} bytes of objects: select fewer", path,
                        options_.max_bytes);
    }
    if (empty_chunks_ > kMaxEmptyChunks) {
      return Unavailable("GET {}: the server sends one empty chunk after another", path);
    }
    return OkStatus();
  }

  void Finish(StatusOr<ListResult> result) {
    call_.reset();
    if (const ListDone done = std::exchange(done_, nullptr)) {
      done(std::move(result));
    }
  }

  Client& client_;
  ListOptions options_;
  ListDone done_;
  std::string token_;  // of the next chunk
  ListResult result_;
  size_t bytes_ = 0;         // of it, in memory
  size_t empty_chunks_ = 0;  // in a row
  bool has_begun_again_ = false;
  std::unique_ptr<Call> call_;
};

class ListCall final : public Call {
 public:
  explicit ListCall(std::shared_ptr<Lister> lister) : lister_(std::move(lister)) {}
  ~ListCall() override { lister_->Cancel(); }
  ListCall(const ListCall&) = delete;
  ListCall& operator=(const ListCall&) = delete;

 private:
  std::shared_ptr<Lister> lister_;
};

}  // namespace

std::unique_ptr<Call> ListObjects(Client& client, ListOptions options, ListDone done) {
  auto lister = std::make_shared<Lister>(client, std::move(options), std::move(done));
  lister->Ask();
  return std::make_unique<ListCall>(std::move(lister));
}

}  // namespace kgpu::kube
