#include "src/cluster/gpus/reader.h"

#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/kube/api/lister.h"
#include "src/kube/api/resource.h"

namespace kgpu::gpus {
namespace {

namespace json = boost::json;

constexpr size_t kMostObjects = 500'000;  // of interest; others are dropped chunk by chunk

}  // namespace

class ClusterReader::Impl {
 public:
  Impl(kube::Client& client, Done done, bool is_repeated)
      : client_(client), done_(std::move(done)), is_repeated_(is_repeated) {
    List({.what = "nodes",
          .path = kube::kNodes.Collection(),
          .keeps = IsGpuNode,
          .trim = TrimGpuNode,
          .add = [this](const json::value& item) { builder_.AddNode(item); },
          .is_needed = true});
    List({.what = "pods",
          .path = kube::kPods.Collection(),
          .selector = "status.phase!=Succeeded,status.phase!=Failed",
          .keeps = IsGpuPod,
          .trim = TrimGpuPod,
          .add = [this](const json::value& item) { builder_.AddPod(item); }});
    ListOfDra({.what = "resourceslices",
               .keeps = IsGpuSlice,
               .trim = TrimGpuSlice,
               .add = [this](const json::value& item) { builder_.AddSlice(item); }},
              0);
    ListOfDra({.what = "resourceclaims",
               .keeps = IsGpuClaim,
               .trim = TrimGpuClaim,
               .add = [this](const json::value& item) { builder_.AddClaim(item); }},
              0);
  }

 private:
  struct Collection {
    std::string what{};
    std::string path{};
    std::string selector{};
    bool (*keeps)(const json::value& object) = nullptr;
    void (*trim)(json::value& object) = nullptr;
    std::function<void(const json::value& object)> add{};
    bool is_needed = false;
    // Called if the server does not have it; empty: that is an error like others.
    std::function<void()> on_missing{};
  };

  void List(Collection collection) {
    ++open_;
    kube::ListOptions options{
        .selection = {.path = collection.path, .field_selector = collection.selector},
        .max_objects = kMostObjects,
        .keeps = collection.keeps,
        .trim = collection.trim,
        .is_repeated = is_repeated_};
    calls_.push_back(kube::ListObjects(
        client_, std::move(options),
        [this, collection = std::move(collection)](StatusOr<kube::ListResult> result) {
          OnList(collection, std::move(result));
        }));
  }

  // In the newest version that the server has; a server without the API has no such devices.
  void ListOfDra(const Collection& collection, size_t version) {
    Collection next = collection;
    next.path = kube::Resource{"resource.k8s.io", kube::kDraVersions.at(version), collection.what}
                    .Collection();
    next.on_missing = [this, collection, version] {
      if (version + 1 < kube::kDraVersions.size()) {
        ListOfDra(collection, version + 1);
      }
    };
    List(std::move(next));
  }

  void OnList(const Collection& collection, StatusOr<kube::ListResult> result) {
    if (result.ok()) {
      for (const json::value& item : result->items) {
        collection.add(item);
      }
    } else if (result.status().code() == StatusCode::kNotFound && collection.on_missing) {
      collection.on_missing();
    } else if (collection.is_needed) {
      failed_ = result.status();
    } else {
      builder_.AddUnreadable(fmt::format("{}: {}", collection.what, Message(result.status())));
    }
    if (--open_ > 0 && failed_.ok()) {
      return;
    }
    // The caller may destroy us.
    if (const Done done = std::exchange(done_, nullptr); done) {
      done(failed_.ok() ? StatusOr<Summary>(builder_.Build()) : StatusOr<Summary>(failed_));
    }
  }

  kube::Client& client_;
  Done done_;
  const bool is_repeated_;
  SummaryBuilder builder_;
  Status failed_;
  size_t open_ = 0;
  std::vector<std::unique_ptr<kube::Call>> calls_;
};

ClusterReader::ClusterReader(kube::Client& client, Done done, bool is_repeated)
    : impl_(std::make_unique<Impl>(client, std::move(done), is_repeated)) {
}

ClusterReader::~ClusterReader() = default;

}  // namespace kgpu::gpus
