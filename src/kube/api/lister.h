// All objects of a collection, in chunks.
#pragma once

#include <boost/json/value.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/kube/api/client.h"
#include "src/platform/base/status.h"

namespace kgpu::kube {

struct Selection {
  std::string path{};            // of the collection: Resource::Collection
  std::string label_selector{};  // "a=b,c in (d,e)"
  std::string field_selector{};  // "spec.nodeName=n1"
};

struct ListOptions {
  Selection selection{};
  // Not older than this; empty: the newest. Errors: OutOfRange (it is forgotten already),
  // Unavailable, reason ResourceVersionTooLarge (the server does not know it yet).
  std::string resource_version{};
  size_t chunk = 500;
  size_t max_objects = 50'000;
  size_t max_bytes = size_t{256} << 20;  // about, in memory
  // Takes out of an object what nobody will look at, before it is counted.
  std::function<void(boost::json::value&)> trim{};
  bool is_repeated = true;  // ApiRequest::is_repeated
};

struct ListResult {
  std::vector<boost::json::value> items{};  // without apiVersion and kind: servers leave them out
  std::string resource_version{};           // a watch begins there
};

using ListDone = std::function<void(StatusOr<ListResult>)>;

// Asks for chunk after chunk; when the server forgets what it began to tell, once more for all at
// once. `done` is called once, never from here, with the errors of Client::Send, and OutOfRange
// without an ApiError when there are more than `max_objects` or `max_bytes`; Unavailable also when
// chunks with nothing in them do not end. Destroying the call gives it up.
std::unique_ptr<Call> ListObjects(Client& client, ListOptions options, ListDone done);

}  // namespace kgpu::kube
